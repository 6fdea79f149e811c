import { beforeAll, describe, expect, test } from 'vitest'
import { CALL_PAYMENT_ACCOUNT } from '../../../src/core/billing/postings.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { paymentTerms, unitsToPico } from '../../../src/core/payments/x402.ts'
import {
  type CallPaymentStore,
  createCallPaymentStore,
} from '../../../src/payments/x402/call-payment-store.ts'
import { testLedger } from '../../helpers/resources.ts'

const OPEN_MAX_UNITS = 1_000n
const SETTINGS = {
  ...{ facilitatorUrl: '', facilitatorAuthorization: null, network: 'eip155:8453' as const, asset: '0xa' },
  ...{ assetName: 'USD Coin', assetVersion: '2', payTo: '0xb' },
}

let store: CallPaymentStore
const ledger = testLedger()
beforeAll(() => {
  store = createCallPaymentStore(ledger.postgres)
})

let nonces = 0
/** Reserves a payment of a wallet, of an authorization of its own unless one is named. */
async function reserve(payer: string, units: bigint, nonce = `0x${++nonces}`) {
  const callId = newCallId()
  const terms = paymentTerms(SETTINGS, units, 900)
  const signed = { signature: '0x', authorization: {} as never }
  const reservation = await store.reserve(
    {
      callId,
      request: { payload: {} as never, terms, payer },
      authorization: { payer, nonce, units, validBefore: Math.floor(Date.now() / 1000) + 900, signed },
      overAt: Date.now() + 60_000,
    },
    unitsToPico(OPEN_MAX_UNITS),
  )
  return { callId, reservation }
}
async function pay(payer: string, units: bigint): Promise<void> {
  const { callId } = await reserve(payer, units)
  await store.move(callId, ['authorized'], 'settling')
  await store.settled(callId, '0x1')
}

describe('a wallet', () => {
  test('pays first until it has paid as much as it may owe', async () => {
    expect((await reserve('0x01', 100n)).reservation).toMatchObject({ kind: 'reserved', paysFirst: true })
    await pay('0x02', 250n)
    for (const paysFirst of [false, false, true])
      expect((await reserve('0x02', 100n)).reservation).toMatchObject({ kind: 'reserved', paysFirst })
  })

  test('owes what it did not pay, and has no credit for it', async () => {
    await pay('0x03', 250n)
    const { callId } = await reserve('0x03', 200n)
    await store.move(callId, ['authorized'], 'unpaid', 'insufficient_funds')
    expect((await reserve('0x03', 100n)).reservation).toMatchObject({ kind: 'reserved', paysFirst: true })
  })

  test('has four payments open at most, and of so much together, unless one alone is more', async () => {
    for (let payments = 0; payments < 4; payments++) await reserve('0x04', 1n)
    expect((await reserve('0x04', 1n)).reservation).toEqual({ kind: 'too-much-open' })
    expect((await reserve('0x05', OPEN_MAX_UNITS * 2n)).reservation).toMatchObject({ kind: 'reserved' })
    expect((await reserve('0x05', 1n)).reservation).toEqual({ kind: 'too-much-open' })
  })

  test('opens no fifth payment by sending ten at once', async () => {
    const sent = await Promise.all(Array.from({ length: 10 }, () => reserve('0x06', 1n)))
    expect(sent.filter(({ reservation }) => reservation.kind === 'reserved')).toHaveLength(4)
  })

  test('is barred when what it did not pay is as much as it may have open', async () => {
    const { callId } = await reserve('0x07', OPEN_MAX_UNITS)
    await store.move(callId, ['authorized'], 'unpaid', 'insufficient_funds')
    expect((await reserve('0x07', 1n)).reservation).toEqual({ kind: 'barred' })
  })
})

test('an authorization is taken once, and again once its payment was released', async () => {
  const { callId } = await reserve('0x08', 1n, '0xabc')
  expect((await reserve('0x08', 1n, '0xabc')).reservation).toEqual({ kind: 'replayed' })
  await store.move(callId, ['authorized'], 'released', 'rate_limit_exceeded')
  const again = await Promise.all([reserve('0x08', 1n, '0xabc'), reserve('0x08', 1n, '0xabc')])
  expect(again.map(({ reservation }) => reservation.kind).sort()).toEqual(['replayed', 'reserved'])
})

test('the account of these calls is locked for the posting alone', async () => {
  await reserve('0x09', 1n, '0xdef')
  const waiting = await ledger.postgres.$transaction(async (settlement) => {
    await settlement.$queryRawUnsafe('SELECT FROM accounts WHERE id = $1 FOR UPDATE', CALL_PAYMENT_ACCOUNT)
    // All that comes before the posting is done while settlement has the account.
    expect((await reserve('0x09', 1n, '0xdef')).reservation).toEqual({ kind: 'replayed' })
    return { posting: reserve('0x0a', 1n) }
  })
  expect((await waiting.posting).reservation).toMatchObject({ kind: 'reserved' })
})
