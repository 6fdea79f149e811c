import type { Logger } from 'pino'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import type { BalanceStore } from '../billing/ledger/balance-store.ts'
import type { PaymentRailName } from '../core/billing/postings.ts'
import { picoUsd } from '../core/kernel/money.ts'
import { failedRefunds, type PaymentFact } from '../core/payments/payment.ts'
import type { AdvancePayment } from './advance-payment.ts'
import type { PaymentEventStore } from './payment-event-store.ts'
import {
  type PaymentRail,
  type PaymentRails,
  type RailNotice,
  RefundRefused,
  railNotice,
  type WebhookHeaders,
} from './payment-rail.ts'
import type { Payment, PaymentStore } from './payment-store.ts'

export type TopUpOpening =
  | { kind: 'opened'; payment: Payment }
  /** The rail is not configured. */
  | { kind: 'no_such_rail' }
  /** The account has the maximum of unpaid top-ups. */
  | { kind: 'too_many_open'; max: number }
  /** The rail was unreachable or refused; the payment has failed. */
  | { kind: 'rail_failed'; payment: Payment; cause: unknown }

export type WebhookOutcome =
  | { kind: 'forged'; reason: string }
  | { kind: 'accepted' }
  /** Stored, but its payment is unknown. */
  | { kind: 'unknown_payment' }
  | { kind: 'no_such_rail' }

export type RefundOutcome =
  | { kind: 'refunded'; payment: Payment }
  | { kind: 'no_such_payment' }
  | { kind: 'no_such_rail' }
  /** More than the rest of the payment, or there is no rest. */
  | { kind: 'too_much'; leftPico: bigint }
  /** The balance has less than the refund; the rail was not asked. */
  | { kind: 'not_in_balance'; freePico: bigint }
  /** The rail refunded nothing. A repetition is a new attempt. */
  | { kind: 'refused'; reason: string }

/** Top-ups from the first request to the last webhook. Only `advance` changes balances. */
export type TopUpService = ReturnType<typeof createTopUpService>

/** Maximum unpaid checkouts of one account. */
const OPEN_MAX = 20

/** The service over its stores and rails. */
export function createTopUpService(deps: {
  payments: PaymentStore
  events: PaymentEventStore
  rails: PaymentRails
  advance: AdvancePayment
  holds: Pick<HoldStore, 'reserveRefund' | 'release'>
  balances: BalanceStore
  /** Saves the card of a page that a rail reported. */
  finishCardSetup: (rail: PaymentRailName, setupId: string) => Promise<unknown>
  logger: Logger
  clock: () => number
}) {
  const { payments, events, rails, advance, holds, balances, logger, clock } = deps

  /** Stores notices and acts on them. Returns the resulting payment, or null if there is none. */
  const follow = async (notices: readonly RailNotice[]): Promise<Payment | null> => {
    const touched = new Set<string>()
    for (const notice of notices) {
      const { paymentId, isNew } = await events.record(notice)
      if (notice.refusal !== null && isNew)
        logger.error({ event: notice, paymentId, alarm: 'payment-refused' }, 'payment event rejected')
      if (paymentId === null) continue
      touched.add(paymentId)
      if (notice.chargeId === null) continue
      await payments.attachCharge(paymentId, notice.chargeId)
      await events.adopt(paymentId, notice.rail, notice.chargeId)
    }
    let payment: Payment | null = null
    for (const paymentId of touched) payment = await advance(paymentId)
    return payment
  }

  const railOf = ({ id, rail }: Payment) => {
    const found = rails.get(rail)
    if (!found) throw new Error(`payment ${id} belongs to ${rail}, which is not configured`)
    return found
  }

  const check = async (payment: Payment): Promise<Payment> => {
    await payments.noteChecked(payment.id, new Date(clock()))
    return (await follow(await railOf(payment).lookUp(payment))) ?? payment
  }

  const fail = async (payment: Payment, reason: string) =>
    (await follow([ownNotice(payment, 'failed', { kind: 'failed', reason })])) ?? payment

  return {
    /** Records a payment and opens its checkout. On the development rail it is settled when this returns. */
    async open(accountId: string, railName: PaymentRailName, amountPico: bigint): Promise<TopUpOpening> {
      const rail = rails.get(railName)
      if (!rail) return { kind: 'no_such_rail' }
      if ((await payments.countOpen(accountId)) >= OPEN_MAX) return { kind: 'too_many_open', max: OPEN_MAX }
      const created = await payments.create(accountId, railName, amountPico)
      try {
        await payments.attachCheckout(created.id, await rail.openCheckout(created))
      } catch (cause) {
        logger.error({ err: cause, paymentId: created.id, rail: railName }, 'checkout not opened')
        return {
          kind: 'rail_failed',
          payment: await fail(created, 'the checkout could not be opened'),
          cause,
        }
      }
      const payment = await advance(created.id)
      // The simulated rail pays at once; on others the customer has to pay.
      return { kind: 'opened', payment: railName === 'development' ? await check(payment) : payment }
    },

    /** Receives a webhook: verifies it, stores it by its id, and acts on it. Rejects if it should be sent again. */
    async receiveWebhook(
      railName: PaymentRailName,
      body: Buffer,
      headers: WebhookHeaders,
    ): Promise<WebhookOutcome> {
      const rail = rails.get(railName)
      if (!rail) return { kind: 'no_such_rail' }
      const reading = await rail.readWebhook(body, headers)
      if (reading.kind === 'forged') return reading
      const { notice } = reading
      const payment = await follow([notice])
      if (notice.cardSetupId !== null) await deps.finishCardSetup(railName, notice.cardSetupId)
      if (notice.ask && payment) await check(payment)
      return payment === null && notice.fact !== null ? { kind: 'unknown_payment' } : { kind: 'accepted' }
    },

    /** Stores a report of a rail and acts on it. Returns the resulting payment, or null if there is none. */
    follow: (notice: RailNotice): Promise<Payment | null> => follow([notice]),

    /** Reads the state of a payment from its rail, and acts on it. */
    check,

    /** Charges the saved card that a payment names; a repetition is the same charge. Rejects while the rail is away. */
    async charge(payment: Payment): Promise<Payment> {
      const { cards } = railOf(payment)
      if (!cards) throw new Error(`payment ${payment.id} charges a card, but ${payment.rail} saves no cards`)
      await payments.noteChecked(payment.id, new Date(clock()))
      return (await follow([await cards.charge(payment)])) ?? payment
    },

    /** Expires an unpaid payment, unless the rail reports that it was paid. */
    async expire(payment: Payment): Promise<Payment> {
      // A payment without a known checkout has nothing to close; a charge can be found without its id.
      const isKnown = payment.checkoutId !== null || payment.methodId !== null
      const notices = !isKnown ? [] : await railOf(payment).abandon(payment)
      const followed = (await follow(notices)) ?? payment
      if (followed.state !== 'created' && followed.state !== 'pending') return followed
      return (await follow([ownNotice(payment, 'expired', { kind: 'expired' })])) ?? followed
    },

    /**
     * Refunds a settled payment, completely (`null`: the remaining amount) or in part. The money is held before the
     * rail is asked, so that no call spends it meanwhile; with `force` the refund may exceed the balance, and the rest
     * is owed. Rejects while Redis is away, before the request, and while the rail is away; a repetition is the same
     * refund.
     */
    async refund(
      paymentId: string,
      amountPico: bigint | null,
      { force = false }: { force?: boolean } = {},
    ): Promise<RefundOutcome> {
      const payment = await payments.find(paymentId)
      if (!payment) return { kind: 'no_such_payment' }
      const rail = rails.get(payment.rail)
      if (!rail) return { kind: 'no_such_rail' }
      const leftPico = payment.settledPico - payment.returnedPico - payment.disputedPico
      const refundPico = amountPico ?? leftPico
      if (refundPico <= 0n || refundPico > leftPico) return { kind: 'too_much', leftPico }
      // A repetition after a crash, before this refund is recorded, is the same refund. After a failed refund it is
      // another, because rails repeat their response to a key.
      const failed = failedRefunds(await events.facts(paymentId))
      const name = `refund-${payment.returnedPico}-${refundPico}-${failed}`
      const { accountId } = payment
      const ledger = (await balances.balances([accountId])).get(accountId)
      if (!ledger) throw new Error(`account ${accountId} of payment ${paymentId} does not exist`)
      const hold = await holds.reserveRefund(accountId, { id: paymentId, name }, refundPico, ledger)
      const release = () => holds.release(accountId, hold.holdId)
      if (hold.amountPico < refundPico && !force) {
        await release()
        return { kind: 'not_in_balance', freePico: hold.amountPico }
      }
      const { notice, refusal } = await askForRefund(rail, payment, refundPico, `${paymentId}-${name}`)
      const refunded = await follow([notice])
      // The posting replaces the hold, unless there was none. If Redis is away now, maintenance closes it.
      await release().catch((error: unknown) =>
        logger.warn({ err: error, paymentId }, 'hold of a refund not released'),
      )
      if (refusal !== null) return { kind: 'refused', reason: refusal }
      return { kind: 'refunded', payment: refunded ?? payment }
    },
  }
}

/** The rail's report of a refund, and the reason if it refunded nothing. */
async function askForRefund(
  rail: PaymentRail,
  payment: Payment,
  amountPico: bigint,
  key: string,
): Promise<{ notice: RailNotice; refusal: string | null }> {
  try {
    const notice = await rail.refund(payment, amountPico, key)
    const hasFailed = notice.fact?.kind === 'refund' && notice.fact.failed
    return { notice, refusal: hasFailed ? 'the refund failed at the rail' : null }
  } catch (error) {
    if (!(error instanceof RefundRefused)) throw error
    const nothing: PaymentFact = { kind: 'refund', refundId: key, amountPico: picoUsd(0n), failed: true }
    return { notice: ownNotice(payment, `refused:${key}`, nothing), refusal: error.message }
  }
}

/** A notice that we create ourselves. */
const ownNotice = ({ id, rail }: Payment, name: string, fact: PaymentFact): RailNotice =>
  railNotice(rail, `own:${id}:${name}`, `own.${name}`, { paymentId: id, fact })
