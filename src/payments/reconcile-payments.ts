import type { Logger } from 'pino'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { changeDebt, lockAccount, postLedger } from '../billing/ledger/ledger-store.ts'
import { newId } from '../core/kernel/ids.ts'
import { lesserOf } from '../core/kernel/money.ts'
import { HOUR_MS, MINUTE_MS } from '../core/kernel/time.ts'
import { collectionPosting } from '../core/payments/payment-movements.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { AdvancePayment } from './advance-payment.ts'
import type { PaymentEventStore } from './payment-event-store.ts'
import type { PaymentRails } from './payment-rail.ts'
import type { Payment, PaymentStore } from './payment-store.ts'
import type { TopUpService } from './top-up-service.ts'

export interface ReconcileDependencies extends CollectDependencies {
  payments: PaymentStore
  events: PaymentEventStore
  rails: PaymentRails
  topUps: Pick<TopUpService, 'check' | 'expire'>
  advance: AdvancePayment
  logger: Logger
  clock: () => number
}

interface ReconcileReport {
  /** Payments whose stored events had not acted. */
  resumed: number
  /** Payments that were checked at their rail. */
  checked: number
  expired: number
  /** Accounts that paid their debt. */
  collected: number
  failures: number
}

/** The process that received an event has acted on it by then, or died. */
const RESUME_AFTER_MS = MINUTE_MS
/** For webhooks that never arrive; they are normally faster. */
const CHECK_AFTER_MS = 5 * MINUTE_MS
const CHECK_EVERY_MS = 10 * MINUTE_MS
/** The rails' checkouts expire earlier. */
const EXPIRE_AFTER_MS = 24 * HOUR_MS
/** The card is not charged again for a payment of this age: see runAutoTopUps. */
const EXPIRE_CHARGE_AFTER_MS = 2 * HOUR_MS
/** Some payments take days to clear after the customer has paid. */
const EXPIRE_PROCESSING_AFTER_MS = 30 * 24 * HOUR_MS
const AT_ONCE_MAX = 50

/**
 * Finishes what webhooks left open: acts on events whose receiver died, checks payments that have been pending for long
 * at their rails, expires old ones, and collects debts. Each payment is independent: a failed one is reported and
 * retried in the next run.
 */
export async function reconcilePayments(deps: ReconcileDependencies): Promise<ReconcileReport> {
  const { payments, events, rails, advance, logger, clock } = deps
  const now = clock()
  const before = (ageMs: number) => new Date(now - ageMs)
  const report: ReconcileReport = { resumed: 0, checked: 0, expired: 0, collected: 0, failures: 0 }
  const attempt = async (paymentId: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      report.failures += 1
      logger.warn({ err: error, paymentId }, 'payment not reconciled, retrying')
    }
  }

  for (const paymentId of await events.waiting(before(RESUME_AFTER_MS), AT_ONCE_MAX)) {
    await attempt(paymentId, async () => {
      await advance(paymentId)
      report.resumed += 1
    })
  }
  const due = await payments.dueForCheck(before(CHECK_AFTER_MS), before(CHECK_EVERY_MS), AT_ONCE_MAX)
  // Payments of a rail that was removed since wait for an operator.
  for (const payment of due.filter(({ rail }) => rails.has(rail))) {
    await attempt(payment.id, async () => {
      const checked = await deps.topUps.check(payment)
      report.checked += 1
      if (!isOpen(checked) || !(await isLapsed(checked, now, events))) return
      const given = await deps.topUps.expire(checked)
      if (given.state === 'expired') report.expired += 1
    })
  }
  report.collected = await collectDebts(deps, AT_ONCE_MAX)
  return report
}

const isOpen = ({ state }: Payment): boolean => state === 'created' || state === 'pending'

async function isLapsed(payment: Payment, nowMs: number, events: PaymentEventStore): Promise<boolean> {
  const ageMs = nowMs - payment.createdAt.getTime()
  if (ageMs <= (payment.methodId === null ? EXPIRE_AFTER_MS : EXPIRE_CHARGE_AFTER_MS)) return false
  if (ageMs > EXPIRE_PROCESSING_AFTER_MS) return true
  const known = await events.list(payment.id)
  return !known.some(({ fact }) => (fact as { kind?: string } | null)?.kind === 'processing')
}

interface CollectDependencies {
  postgres: Postgres
  holds: HoldStore
}

const OWING = `
SELECT id FROM accounts WHERE owed_pico > 0 AND balance_pico > 0 ORDER BY id LIMIT $1`

const TRANSACTION = { maxWait: 5_000, timeout: 10_000 }

/**
 * Pays debts of accounts from balances that became available since: money that running calls held when it was to be
 * taken back, or a credit. Returns the number of accounts.
 */
export async function collectDebts(deps: CollectDependencies, limit: number): Promise<number> {
  const owing = await deps.postgres.$queryRawUnsafe<Array<{ id: string }>>(OWING, limit)
  let collected = 0
  for (const { id } of owing) if (await collectDebt(id, deps)) collected += 1
  return collected
}

async function collectDebt(accountId: string, deps: CollectDependencies): Promise<boolean> {
  const { postgres, holds } = deps
  const outcome = await postgres.$transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId)
    const wantedPico = lesserOf(account.owedPico, account.balancePico)
    if (wantedPico === 0n) return null
    const hold = await holds.reserveTakeback(accountId, wantedPico, account)
    if (hold.amountPico === 0n) return null
    const posting = collectionPosting(newId('evt'), accountId, lesserOf(wantedPico, hold.amountPico))
    const ledger = await postLedger(transaction, posting)
    await changeDebt(transaction, accountId, -hold.amountPico)
    return { ledger, hold }
  }, TRANSACTION)
  if (!outcome) return false
  const { holdId, amountPico } = outcome.hold
  await holds.apply(accountId, outcome.ledger, [{ callId: holdId, chargePico: amountPico }])
  return true
}
