import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  assertBalanced,
  balanceChange,
  capturePosting,
  creditPosting,
  freeCreditPosting,
  type LedgerEntry,
  type Posting,
} from '../../../src/core/billing/postings.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'

const amount = fc.bigInt({ min: 1n, max: 2n ** 62n }).map(picoUsd)
const postings = [
  (value: bigint) => capturePosting('chatcmpl_1', 'acct_1', picoUsd(value)),
  (value: bigint) => freeCreditPosting('acct_1', picoUsd(value)),
  (value: bigint) => creditPosting('evt_1', 'acct_1', picoUsd(value)),
]

describe('postings', () => {
  test('every kind sums to zero for every amount', () => {
    fc.assert(
      fc.property(fc.constantFrom(...postings), amount, (post, value) => {
        const { entries } = post(value)
        return entries.reduce((sum, entry) => sum + entry.amountPico, 0n) === 0n
      }),
    )
  })

  test('a capture takes its charge from the customer, a credit adds to the balance', () => {
    fc.assert(
      fc.property(amount, (value) => {
        expect(balanceChange(capturePosting('chatcmpl_1', 'acct_1', value))).toBe(-value)
        expect(balanceChange(creditPosting('evt_1', 'acct_1', value))).toBe(value)
        expect(balanceChange(freeCreditPosting('acct_1', value))).toBe(value)
      }),
    )
  })

  test("only the customer's own entries move its balance", () => {
    const entries: LedgerEntry[] = [
      { ledgerAccount: 'customer:acct_1', amountPico: 5n },
      { ledgerAccount: 'customer:acct_2', amountPico: -5n },
    ]
    expect(balanceChange(posting(entries))).toBe(5n)
  })

  test.each<[string, LedgerEntry[]]>([
    ['no entries', []],
    ['an entry of zero', [{ ledgerAccount: 'revenue', amountPico: 0n }]],
    ['entries that do not sum to zero', [entry('revenue', 2n), entry('adjustments', -1n)]],
    ['one ledger account twice', [entry('revenue', 1n), entry('revenue', -1n)]],
    [
      'one ledger account twice among others',
      [entry('revenue', 1n), entry('revenue', 1n), entry('adjustments', -2n)],
    ],
  ])('%s is refused', (_name, entries) => {
    expect(() => assertBalanced(posting(entries))).toThrow(RangeError)
  })

  test('moving nothing is refused', () => {
    expect(() => creditPosting('evt_1', 'acct_1', picoUsd(0n))).toThrow(RangeError)
  })
})

function entry(ledgerAccount: LedgerEntry['ledgerAccount'], amountPico: bigint): LedgerEntry {
  return { ledgerAccount, amountPico }
}

function posting(entries: LedgerEntry[]): Posting {
  return { id: 'evt_1', kind: 'adjustment', accountId: 'acct_1', entries }
}
