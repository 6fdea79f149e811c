import pino from 'pino'
import { createHoldStore, type HoldStore } from '../../src/billing/holds/hold-store.ts'
import { createBalanceStore } from '../../src/billing/ledger/balance-store.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import type { PaymentFact } from '../../src/core/payments/payment.ts'
import { createAdvancePayment } from '../../src/payments/advance-payment.ts'
import { createPaymentEventStore } from '../../src/payments/payment-event-store.ts'
import type { OpenedCheckout, PaymentRail, RailNotice, TimeSpan } from '../../src/payments/payment-rail.ts'
import { createPaymentStore, type Payment } from '../../src/payments/payment-store.ts'
import type { ReconcileDependencies } from '../../src/payments/reconcile-payments.ts'
import { createTopUpService, type TopUpService } from '../../src/payments/top-up-service.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { openTestLedger, type TestLedger } from './billing.ts'
import { filled } from './resources.ts'
import { createTestRedis } from './services.ts'

export const AMOUNT_PICO = 25_000_000_000_000n

/** A rail that says what the test tells it to. */
export interface ScriptedRail extends PaymentRail {
  /** What it lists as refunds. */
  refunds: RailNotice[]
  lists: number
  /** The periods of the last of them. */
  listed: readonly TimeSpan[]
  /** What `lookUp` answers; the last one stays. */
  answer: (payment: Payment) => RailNotice[]
  lookUps: number
}

export interface TestPayments extends ReconcileDependencies {
  ledger: TestLedger
  topUps: TopUpService
  redis: Redis
  holds: HoldStore
  rail: ScriptedRail
  announced: string[]
  /** Shifts the clock of everything here, ms. */
  travel(ms: number): void
  /** An open payment of AMOUNT_PICO. */
  open(accountId: string): Promise<Payment>
  /** Tells facts of a payment, each as an event of its own, and follows them. */
  tell(payment: Payment, ...facts: PaymentFact[]): Promise<Payment>
  /** Keeps an event, as a receiver does that dies before it acts. */
  keep(payment: Payment, fact: PaymentFact): Promise<void>
  load(accountId: string): Promise<void>
  close(): Promise<void>
}

let eventNumber = 0

/** Everything top-ups are made of, over a database and a Redis of their own and a scripted rail. */
export const testPayments = (): TestPayments => filled(startTestPayments, (kit) => kit.close())

async function startTestPayments(): Promise<TestPayments> {
  const [ledger, server] = await Promise.all([openTestLedger(), createTestRedis()])
  const redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
  const holds = createHoldStore(redis)
  let shiftMs = 0
  const clock = () => Date.now() + shiftMs
  const logger = pino({ level: 'silent' })
  const announced: string[] = []
  const announceAccount = async (accountId: string) => void announced.push(accountId)
  const { postgres } = ledger
  const advance = createAdvancePayment({
    ...{ postgres, holds, announceAccount, logger, clock },
    invoices: null,
  })
  const payments = createPaymentStore(postgres)
  const events = createPaymentEventStore(postgres)
  const rail = scriptedRail()
  const rails = new Map([['stripe' as const, rail]])
  const topUps = createTopUpService({
    ...{ payments, events, rails, advance, holds, logger, clock },
    balances: createBalanceStore(postgres),
    finishCardSetup: async () => undefined,
  })
  const keep = async (payment: Payment, fact: PaymentFact) => {
    await events.record(noticeOf(payment, fact))
  }
  return {
    ledger,
    redis,
    holds,
    rail,
    announced,
    postgres,
    payments,
    events,
    rails,
    topUps,
    advance,
    logger,
    clock,
    travel(ms) {
      shiftMs += ms
    },
    async open(accountId) {
      const opening = await topUps.open(accountId, 'stripe', AMOUNT_PICO)
      if (opening.kind !== 'opened') throw new Error(opening.kind)
      return opening.payment
    },
    async tell(payment, ...facts) {
      for (const fact of facts) await keep(payment, fact)
      return advance(payment.id)
    },
    keep,
    async load(accountId) {
      const ledger = (await createBalanceStore(postgres).balances([accountId])).get(accountId)
      if (ledger) await holds.load(accountId, ledger)
    },
    async close() {
      redis.disconnect()
      await Promise.all([server.close(), ledger.close()])
    },
  }
}

export function noticeOf(payment: Payment, fact: PaymentFact, changes: Partial<RailNotice> = {}): RailNotice {
  eventNumber += 1
  return {
    rail: 'stripe',
    eventId: `evt_${eventNumber}`,
    type: fact.kind,
    paymentId: payment.id,
    reference: null,
    chargeId: fact.kind === 'settled' ? `charge_${payment.id}` : null,
    fact,
    refusal: null,
    ask: false,
    cardSetupId: null,
    ...changes,
  }
}

export const settledFact: PaymentFact = { kind: 'settled', amountPico: picoUsd(AMOUNT_PICO) }

export const refundFact = (refundId: string, amountPico: bigint, failed = false): PaymentFact => ({
  kind: 'refund',
  refundId,
  amountPico: picoUsd(amountPico),
  failed,
})

function scriptedRail(): ScriptedRail {
  const rail: ScriptedRail = {
    name: 'stripe',
    asksToVerify: false,
    cards: null,
    answer: () => [],
    lookUps: 0,
    openCheckout: async ({ id }): Promise<OpenedCheckout> => ({
      checkoutId: `checkout_${id}`,
      checkoutUrl: 'https://x',
    }),
    readWebhook: async () => ({ kind: 'forged', reason: 'scripted' }),
    async lookUp(payment) {
      rail.lookUps += 1
      return rail.answer(payment)
    },
    abandon: async (payment) => rail.answer(payment),
    refunds: [],
    lists: 0,
    listed: [],
    async *listRefunds(spans) {
      rail.lists += 1
      rail.listed = spans
      yield* rail.refunds
    },
    listPayments: null,
    async *listDisputes() {
      // None: refunds stand for both.
    },
    refund: async (payment, amountPico, key) => noticeOf(payment, refundFact(key, amountPico)),
  }
  return rail
}
