import { describe, expect, test } from 'vitest'
import { callPaymentClosing } from '../../../src/core/billing/postings.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import {
  judgeSettlement,
  paymentTerms,
  quotedUnits,
  readAuthorization,
  type SettleResult,
  unitsToPico,
} from '../../../src/core/payments/x402.ts'
import { readCallPaymentSettings } from '../../../src/core/payments/x402-settings.ts'

const ENVIRONMENT = {
  X402_FACILITATOR_URL: 'https://facilitator.example/',
  X402_NETWORK: 'eip155:8453',
  X402_ASSET: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  X402_PAY_TO: '0x00000000000000000000000000000000000000A1',
}
const settings = readCallPaymentSettings(ENVIRONMENT, [])!
const NOW = 1_800_000_000
const TERMS = paymentTerms(settings, 2_000n, 900)
const PAYER = '0x00000000000000000000000000000000000000C3'

/** A payment for TERMS, with some fields of it changed. */
const payment = (
  changes: { accepted?: object; authorization?: object; signature?: unknown; x402Version?: number } = {},
) => ({
  x402Version: changes.x402Version ?? 2,
  accepted: { ...TERMS, ...changes.accepted },
  payload: {
    signature: 'signature' in changes ? changes.signature : `0x${'AB'.repeat(65)}`,
    authorization: {
      from: PAYER,
      to: ENVIRONMENT.X402_PAY_TO,
      value: '2000',
      validAfter: String(NOW - 600),
      validBefore: String(NOW + 900),
      nonce: `0x${'Ab'.repeat(32)}`,
      ...changes.authorization,
    },
  },
})
const read = (signed: ReturnType<typeof payment>) => readAuthorization(signed, TERMS, NOW, NOW + 800)

describe('a quote', () => {
  test.each([
    [1n, 1n],
    [999_999n, 1n],
    [1_000_000n, 1n],
    [1_000_001n, 2n],
    [2_034_000_000n, 2_034n],
    [0n, 1n],
  ])('of a bound of %s pico-USD is %s atomic units: rounded up, and never nothing', (bound, units) => {
    expect(quotedUnits(picoUsd(bound))).toBe(units)
    expect(unitsToPico(units)).toBeGreaterThanOrEqual(bound)
  })
})

describe('an authorization', () => {
  test('is read with its addresses in lower case, and nothing else is kept of the payload', () => {
    expect(read(payment())).toEqual({
      kind: 'authorization',
      authorization: {
        payer: PAYER.toLowerCase(),
        nonce: `0x${'ab'.repeat(32)}`,
        units: 2_000n,
        validBefore: NOW + 900,
        signed: {
          signature: `0x${'ab'.repeat(65)}`,
          authorization: {
            from: PAYER.toLowerCase(),
            to: ENVIRONMENT.X402_PAY_TO.toLowerCase(),
            value: '2000',
            validAfter: String(NOW - 600),
            validBefore: String(NOW + 900),
            nonce: `0x${'ab'.repeat(32)}`,
          },
        },
      },
    })
  })

  test('of an earlier, higher quote pays for the present one', () => {
    const signed = payment({ accepted: { amount: '2500' }, authorization: { value: '2500' } })
    expect(read(signed)).toMatchObject({ kind: 'authorization', authorization: { units: 2_500n } })
  })

  test.each([
    ['the first version', { x402Version: 1 }, 'invalid_x402_version'],
    ['another scheme', { accepted: { scheme: 'upto' } }, 'unsupported_scheme'],
    ['another network', { accepted: { network: 'eip155:1' } }, 'invalid_network'],
    ['another token', { accepted: { asset: PAYER } }, 'invalid_payment_requirements'],
    ['another wallet in its terms', { accepted: { payTo: PAYER } }, 'invalid_payment_requirements'],
    [
      'another wallet in what is signed',
      { authorization: { to: PAYER } },
      'invalid_exact_evm_recipient_mismatch',
    ],
    [
      'less than the quote',
      { accepted: { amount: '1999' }, authorization: { value: '1999' } },
      'invalid_exact_evm_payload_authorization_value',
    ],
    ['two amounts', { accepted: { amount: '2500' } }, 'invalid_exact_evm_payload_authorization_value'],
    [
      'a time to come',
      { authorization: { validAfter: String(NOW + 1) } },
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    [
      'an end before the call may end',
      { authorization: { validBefore: String(NOW + 799) } },
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    ['no authorization', { authorization: { from: undefined } }, 'invalid_payload'],
    ['a number for a text', { authorization: { value: 2000 } }, 'invalid_payload'],
    ['an amount beyond all prices', { authorization: { value: '10000000000' } }, 'invalid_payload'],
    ['a negative amount', { authorization: { value: '-1' } }, 'invalid_payload'],
    ['a short nonce', { authorization: { nonce: '0x12' } }, 'invalid_payload'],
    ['no signature', { signature: undefined }, 'invalid_payload'],
  ])('is refused with %s', (_name, changes, reason) => {
    expect(read(payment(changes))).toEqual({ kind: 'refused', reason })
  })
})

describe('an answer to a settlement', () => {
  const refused = (reason: string): SettleResult => ({ kind: 'refused', reason })
  const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
  test.each([
    ['names the transaction', { kind: 'settled', transaction: '0x1' }, 3, true, 'settled'],
    ['refuses the first attempt before anything is sent', refused(NONCE_USED), 1, false, 'unpaid'],
    ['says after a lost one that the nonce is used', refused(NONCE_USED), 2, false, 'retry'],
    ['says so when the time is over', refused(NONCE_USED), 2, true, 'unproven'],
    ['refuses for what may be an effect of the transfer', refused('transaction_failed'), 1, false, 'retry'],
    ['does not come', { kind: 'unknown', reason: 'timeout' }, 1, false, 'retry'],
    ['does not come until the time is over', { kind: 'unknown', reason: 'timeout' }, 9, true, 'unproven'],
  ] as const)('that %s', (_name, answer, attempts, isExpired, kind) => {
    expect(judgeSettlement(answer, { attempts, isExpired }).kind).toBe(kind)
  })
})

describe('the closing of a payment of 100 whose call was charged 60', () => {
  const closing = (isSettled: boolean, remainingPico = 40n) =>
    callPaymentClosing('chatcmpl_1', { amountPico: 100n, remainingPico, isSettled })
  const amounts = (posting: ReturnType<typeof closing>) =>
    Object.fromEntries(posting!.entries.map(({ ledgerAccount, amountPico }) => [ledgerAccount, amountPico]))

  test('keeps the rest of what was settled', () => {
    expect(amounts(closing(true))).toEqual({ call_payment_remainder: 40n, 'customer:acct_x402': -40n })
  })
  test('returns what was not settled to the rail, and shows the charge as lost', () => {
    expect(amounts(closing(false))).toEqual({
      'rail:x402': 100n,
      unpaid_calls: -60n,
      'customer:acct_x402': -40n,
    })
  })
  test('loses nothing on a call that was not charged', () => {
    expect(amounts(closing(false, 100n))).toEqual({ 'rail:x402': 100n, 'customer:acct_x402': -100n })
  })
  test('posts nothing where the charge was all of it', () => {
    expect(closing(true, 0n)).toBeNull()
  })
})

describe('the settings', () => {
  test('are none, or all four', () => {
    expect(readCallPaymentSettings({}, [])).toBeNull()
    const problems: string[] = []
    readCallPaymentSettings({ ...ENVIRONMENT, X402_PAY_TO: undefined }, problems)
    expect(problems).toHaveLength(1)
    expect(settings).toMatchObject({ facilitatorUrl: 'https://facilitator.example', assetName: 'USD Coin' })
  })
  test.each([
    ['X402_NETWORK', 'base'],
    ['X402_ASSET', 'USDC'],
    ['X402_PAY_TO', '0x12'],
    ['X402_FACILITATOR_URL', 'facilitator.example'],
  ])('are refused with %s=%s', (name, value) => {
    const problems: string[] = []
    readCallPaymentSettings({ ...ENVIRONMENT, [name]: value }, problems)
    expect(problems).toEqual([expect.stringContaining(name)])
  })
})
