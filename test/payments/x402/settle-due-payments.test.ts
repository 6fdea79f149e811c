import { setTimeout as delay } from 'node:timers/promises'
import pino from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { createCallPaymentStore } from '../../../src/payments/x402/call-payment-store.ts'
import type { FacilitatorRequest } from '../../../src/payments/x402/facilitator.ts'
import { settleDuePayments } from '../../../src/payments/x402/settle-due-payments.ts'
import { testLedger } from '../../helpers/resources.ts'

const SETTLE_WAIT_MS = 15_000
const LATENCY_MS = 50

const ledger = testLedger()
beforeEach(async () => {
  await ledger.postgres.callPayment.deleteMany({})
})

/** Payments that are due, of which each expires a second before the one made before it. */
const payments = (count: number) =>
  ledger.postgres.callPayment.createMany({
    data: Array.from({ length: count }, (_, index) => ({
      ...{ callId: `call_${index}`, network: 'eip155:8453', asset: '0xa', payer: '0xb', nonce: `0x${index}` },
      ...{ amountPico: 1_000_000n, request: { payer: String(index) }, state: 'settling', attempts: 0 },
      ...{ overAt: new Date(), nextAttemptAt: new Date(Date.now() - 1_000) },
      expiresAt: new Date(Date.now() + 1_200_000 - index * 1_000),
    })),
  })

/** Runs one settlement process against a facilitator that takes its time. */
function settler(asked: string[], answer = () => delay(LATENCY_MS)) {
  return settleDuePayments({
    store: createCallPaymentStore(ledger.postgres),
    facilitator: {
      async settle({ payer }: FacilitatorRequest) {
        asked.push(payer)
        await answer()
        return { kind: 'settled', transaction: `0x${payer}` }
      },
    },
    settleWaitMs: SETTLE_WAIT_MS,
    logger: pino({ level: 'silent' }),
    clock: Date.now,
  })
}
const settledPayments = () => ledger.postgres.callPayment.count({ where: { state: 'settled' } })

test('hundreds of due payments are settled at once, each asked for once', async () => {
  await payments(900)
  const asked: string[] = []
  let [atOnce, mostAtOnce] = [0, 0]
  await settler(asked, async () => {
    mostAtOnce = Math.max(mostAtOnce, ++atOnce)
    await delay(LATENCY_MS)
    atOnce--
  })
  expect(await settledPayments()).toBe(900)
  expect(new Set(asked).size).toBe(900)
  expect(asked).toHaveLength(900)
  expect(mostAtOnce).toBe(400)
})

test('those that expire first are asked for first', async () => {
  await payments(600)
  const asked: string[] = []
  await settler(asked)
  const firsts = asked.slice(0, 400).map(Number)
  expect(Math.min(...firsts)).toBe(200)
})

test('two processes share what is due', async () => {
  await payments(900)
  const [one, other]: [string[], string[]] = [[], []]
  await Promise.all([settler(one), settler(other)])
  expect(await settledPayments()).toBe(900)
  expect(one.length + other.length).toBe(900)
  expect(Math.min(one.length, other.length)).toBeGreaterThan(300)
})

test('a payment that fails keeps no other waiting', async () => {
  await payments(50)
  const store = createCallPaymentStore(ledger.postgres)
  await settleDuePayments({
    store: {
      ...store,
      settled: async (callId, transaction) => {
        if (callId === 'call_49') throw new Error('PostgreSQL is away')
        return store.settled(callId, transaction)
      },
    },
    facilitator: { settle: async () => ({ kind: 'settled', transaction: '0x1' }) },
    settleWaitMs: SETTLE_WAIT_MS,
    logger: pino({ level: 'silent' }),
    clock: Date.now,
  })
  expect(await settledPayments()).toBe(49)
})
