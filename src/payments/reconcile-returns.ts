import type { Logger } from 'pino'
import type { PicoUsd } from '../core/kernel/money.ts'
import { DAY_MS } from '../core/kernel/time.ts'
import type { PaymentRail, PaymentRails, RailNotice, RefundablePayments, TimeSpan } from './payment-rail.ts'
import type { Payment, PaymentStore } from './payment-store.ts'
import type { TopUpService } from './top-up-service.ts'

export interface ReturnsDependencies {
  payments: Pick<PaymentStore, 'findNamed' | 'settledWithin'>
  rails: PaymentRails
  topUps: Pick<TopUpService, 'follow'>
  logger: Logger
}

export interface ReturnsReport {
  /** Refunds and disputes of our payments that the rails listed. */
  checked: number
  /** Refunds and disputes of unknown payments, such as another shop's on the same rail. */
  foreign: number
  /** Payments that were paid or returned without a report, in their current state. */
  missed: Payment[]
  /** Payments at the rails that were compared. */
  paymentsChecked: number
  /** Money at a rail with the id of a payment that does not exist here. */
  unknownPayments: UnknownPayment[]
  /** Lists that could not be read completely. */
  failures: number
}

export interface UnknownPayment {
  rail: string
  paymentId: string
  /** The rail's id of the charge. */
  chargeId: string | null
  amountPico: PicoUsd | null
}

/** Payments are compared on several consecutive days; PostgreSQL cannot have lost older ones. */
const INCOME_LOOK_BACK_MS = 7 * DAY_MS
/** Refunds and disputes are possible for about half a year; a dispute is decided within it. */
const LOOK_BACK_MS = 179 * DAY_MS
/** The ages at which what a rail has of a day is listed. */
const AGES_DAYS = [178, 150, 120, 90, 60, 30, 14, 7, 4, 2, 1, 0]
const PAGE = 100

/**
 * The periods to list so that everything is listed once at each of these ages, the oldest first. No rail lists all of
 * its changes, so what is young is listed often and what is old seldom: twelve days' worth a day.
 * @param provenMs the end of the last complete run; null: none, so everything is listed
 */
export function spansSince(provenMs: number | null, untilMs: number): TimeSpan[] {
  const oldest = { fromMs: untilMs - LOOK_BACK_MS, toMs: untilMs }
  if (provenMs === null || provenMs <= oldest.fromMs) return [oldest]
  const spans: TimeSpan[] = []
  for (const age of AGES_DAYS) {
    const span = { fromMs: provenMs - age * DAY_MS, toMs: untilMs - age * DAY_MS }
    const last = spans.at(-1)
    if (last && last.toMs >= span.fromMs) last.toMs = span.toMs
    else spans.push(span)
  }
  return spans
}

/**
 * Lists refunds and disputes at the rails and applies each as a fact of its payment, as for webhooks; a repeated fact
 * changes nothing. A fact that changes a payment had been missed, and raises an alarm. Also lists recent payments, if
 * the rail can: money with the id of a payment that does not exist here raises an alarm. A list that fails is reported;
 * the others continue.
 * @param spans the periods that are listed, the last one last; later refunds and disputes are left to their webhook
 */
export async function reconcileReturns(
  deps: ReturnsDependencies,
  spans: readonly TimeSpan[],
  signal?: AbortSignal,
): Promise<ReturnsReport> {
  const { rails, logger } = deps
  const report: ReturnsReport = {
    ...{ checked: 0, foreign: 0, missed: [], failures: 0 },
    ...{ paymentsChecked: 0, unknownPayments: [] },
  }
  const untilMs = spans.at(-1)!.toMs
  const lately = { fromMs: untilMs - INCOME_LOOK_BACK_MS, toMs: untilMs }
  const lists = [...rails.values()].flatMap((rail) => [
    { rail, what: 'refunds', notices: rail.listRefunds(spans, refundable(rail, spans, deps)), reconcile },
    { rail, what: 'disputes', notices: rail.listDisputes(spans), reconcile },
    ...(rail.listPayments
      ? [{ rail, what: 'payments', notices: rail.listPayments(lately), reconcile: reconcileIncome }]
      : []),
  ])
  for (const { rail, what, notices, reconcile: compare } of lists) {
    try {
      for await (const notice of notices) {
        if (signal?.aborted) return report
        await compare(notice, report, deps)
      }
    } catch (error) {
      report.failures += 1
      logger.error(
        { err: error, subject: `${rail.name} ${what}`, alarm: 'returns-not-reconciled' },
        'payment rail list could not be read',
      )
    }
  }
  return report
}

async function reconcile(
  notice: RailNotice,
  report: ReturnsReport,
  deps: ReturnsDependencies,
): Promise<void> {
  if (notice.fact === null && notice.refusal === null) return
  const before = await deps.payments.findNamed(notice)
  if (!before) {
    report.foreign += 1
    return
  }
  report.checked += 1
  await followMissed(before, notice, report, deps)
}

/** Compares a received payment: one with our id must exist here and be settled. Other shops on the rail have no id of ours. */
async function reconcileIncome(
  notice: RailNotice,
  report: ReturnsReport,
  deps: ReturnsDependencies,
): Promise<void> {
  const { rail, paymentId, chargeId, fact } = notice
  if (paymentId === null) return
  report.paymentsChecked += 1
  const known = await deps.payments.findNamed(notice)
  if (known) {
    if (known.settledPico === 0n) await followMissed(known, notice, report, deps)
    return
  }
  const amountPico = fact?.kind === 'settled' ? fact.amountPico : null
  report.unknownPayments.push({ rail, paymentId, chargeId, amountPico })
  deps.logger.error(
    { alarm: 'payment-unknown', rail, paymentId, chargeId, amountPico: String(amountPico) },
    'payment at a rail is unknown',
  )
}

async function followMissed(
  before: Payment,
  notice: RailNotice,
  report: ReturnsReport,
  { topUps, logger }: ReturnsDependencies,
): Promise<void> {
  const now = await topUps.follow({ ...notice, paymentId: before.id })
  if (!now || isUnmoved(before, now)) return
  report.missed.push(now)
  logger.error(
    { paymentId: now.id, accountId: now.accountId, rail: now.rail, alarm: 'payment-webhook-missed' },
    'payment changed without a webhook',
  )
}

const isUnmoved = (one: Payment, other: Payment): boolean =>
  one.state === other.state &&
  one.returnedPico === other.returnedPico &&
  one.disputedPico === other.disputedPico

const refundable = (
  rail: PaymentRail,
  spans: readonly TimeSpan[],
  deps: ReturnsDependencies,
): RefundablePayments => ({
  settled: settledPayments(rail, spans, deps),
  findCharged: (chargeId) =>
    deps.payments.findNamed({ rail: rail.name, paymentId: null, reference: chargeId }),
})

/** All payments that a rail settled in some periods, read in pages. */
async function* settledPayments(
  { name }: PaymentRail,
  spans: readonly TimeSpan[],
  { payments }: ReturnsDependencies,
): AsyncGenerator<Payment> {
  for (const span of spans) {
    let last: Payment | undefined
    do {
      const page: Payment[] = await payments.settledWithin(name, span, last ?? null, PAGE)
      yield* page
      last = page.length < PAGE ? undefined : page.at(-1)
    } while (last)
  }
}
