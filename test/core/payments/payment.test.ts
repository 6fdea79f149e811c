import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertBalanced, balanceChange } from '../../../src/core/billing/postings.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import {
  DISPUTE_OUTCOMES,
  type PaymentAmounts,
  type PaymentFact,
  paymentOutcome,
} from '../../../src/core/payments/payment.ts'
import {
  type AccountFunds,
  afterMovement,
  debtChange,
  type Movement,
  movementPosting,
  paymentMovements,
} from '../../../src/core/payments/payment-movements.ts'

const NOTHING_MOVED: PaymentAmounts = {
  settledPico: picoUsd(0n),
  returnedPico: picoUsd(0n),
  disputedPico: picoUsd(0n),
}

const AMOUNT = picoUsd(100n)
const basis = { amountPico: AMOUNT, opened: true }
const settled: PaymentFact = { kind: 'settled', amountPico: AMOUNT }
const refund = (refundId: string, amount: bigint, failed = false): PaymentFact => ({
  kind: 'refund',
  refundId,
  amountPico: picoUsd(amount),
  failed,
})
const dispute = (outcome: (typeof DISPUTE_OUTCOMES)[number], amount = 100n, atMs?: number): PaymentFact => ({
  kind: 'dispute',
  disputeId: 'd1',
  amountPico: picoUsd(amount),
  outcome,
  ...(atMs !== undefined && { atMs }),
})
const total = (amount: bigint): PaymentFact => ({ kind: 'refunded_total', amountPico: picoUsd(amount) })
const reversal = (amount: bigint): PaymentFact => ({
  kind: 'reversal',
  reversalId: 'r',
  amountPico: picoUsd(amount),
})

describe('paymentOutcome', () => {
  test.each<[string, PaymentFact[], string, bigint, bigint]>([
    ['nothing is known', [], 'pending', 0n, 0n],
    ['the rail works on it', [{ kind: 'processing' }], 'pending', 0n, 0n],
    ['the rail refused it', [{ kind: 'failed', reason: 'declined' }], 'failed', 0n, 0n],
    ['nobody paid', [{ kind: 'expired' }], 'expired', 0n, 0n],
    ['the money is in', [settled], 'settled', 0n, 0n],
    ['the money came in at the last moment', [{ kind: 'expired' }, settled], 'settled', 0n, 0n],
    ['a part went back', [settled, refund('a', 30n)], 'refunded', 30n, 0n],
    ['two parts went back', [settled, refund('a', 30n), refund('b', 20n)], 'refunded', 50n, 0n],
    ['the rail tells the sum as well', [settled, refund('a', 30n), total(30n)], 'refunded', 30n, 0n],
    ['the rail tells the sum alone', [settled, total(30n), total(100n)], 'refunded', 100n, 0n],
    ['a refund failed', [settled, refund('a', 30n), total(30n), refund('a', 30n, true)], 'settled', 0n, 0n],
    ['a dispute is open', [settled, dispute('open')], 'disputed', 0n, 100n],
    ['a dispute was won', [settled, dispute('open'), dispute('won')], 'settled', 0n, 0n],
    ['a dispute was lost', [settled, dispute('open'), dispute('lost')], 'disputed', 100n, 0n],
    [
      'a lost dispute was won',
      [settled, dispute('lost', 100n, 1), dispute('won', 100n, 2)],
      'settled',
      0n,
      0n,
    ],
    [
      'a dispute was won, then lost, and told of in the wrong order',
      [settled, dispute('lost', 100n, 2), dispute('won', 100n, 1)],
      'disputed',
      100n,
      0n,
    ],
    [
      'a decided dispute is told of as open later on',
      [settled, dispute('lost', 100n, 1), dispute('open', 100n, 2)],
      'disputed',
      100n,
      0n,
    ],
    [
      'a dispute was settled by a refund',
      [settled, dispute('open'), refund('a', 100n)],
      'disputed',
      100n,
      0n,
    ],
    ['the rail took it back', [settled, reversal(100n)], 'disputed', 100n, 0n],
    ['a lost dispute and its reversal', [settled, dispute('lost', 40n), reversal(40n)], 'disputed', 40n, 0n],
    ['an open dispute and its reversal', [settled, dispute('open', 40n), reversal(40n)], 'disputed', 40n, 0n],
    ['more went back than came in', [settled, refund('a', 80n), dispute('lost', 80n)], 'disputed', 100n, 0n],
    ['a refund came before the payment', [refund('a', 30n)], 'pending', 0n, 0n],
  ])('when %s', (_name, facts, state, returnedPico, disputedPico) => {
    expect(paymentOutcome(basis, facts)).toMatchObject({ state, returnedPico, disputedPico })
  })

  test('without a checkout it is only created', () => {
    expect(paymentOutcome({ ...basis, opened: false }, []).state).toBe('created')
  })

  test('another amount than was asked for does not count', () => {
    const outcome = paymentOutcome(basis, [{ kind: 'settled', amountPico: picoUsd(99n) }])
    expect(outcome).toMatchObject({ state: 'pending', settledPico: 0n })
  })
})

const amounts = fc.bigInt({ min: 1n, max: 120n }).map(picoUsd)
const anyFact: fc.Arbitrary<PaymentFact> = fc.oneof(
  fc.constant<PaymentFact>({ kind: 'processing' }),
  fc.constant<PaymentFact>(settled),
  fc.constant<PaymentFact>({ kind: 'failed', reason: 'declined' }),
  fc.constant<PaymentFact>({ kind: 'expired' }),
  fc.record({
    kind: fc.constant('refund' as const),
    refundId: fc.constantFrom('a', 'b', 'c'),
    amountPico: amounts,
    failed: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('refunded_total' as const), amountPico: amounts }),
  fc.record({
    kind: fc.constant('dispute' as const),
    disputeId: fc.constantFrom('d', 'e'),
    amountPico: amounts,
    outcome: fc.constantFrom(...DISPUTE_OUTCOMES),
    atMs: fc.nat({ max: 3 }),
  }),
  fc.record({
    kind: fc.constant('reversal' as const),
    reversalId: fc.constantFrom('r', 's'),
    amountPico: amounts,
  }),
)

/** A ledger of one account, as advancePayment drives it: what gives first, then what takes. */
class Ledger {
  readonly accounts = new Map<string, bigint>()
  funds: AccountFunds = { spendablePico: 0n, owedPico: 0n }
  posted: PaymentAmounts = NOTHING_MOVED

  follow(facts: readonly PaymentFact[]): void {
    for (const movement of paymentMovements(this.posted, paymentOutcome(basis, facts))) this.post(movement)
  }

  private post(movement: Movement): void {
    const posting = movementPosting(movement, { id: 'pay', accountId: 'a', rail: 'stripe' }, this.funds)
    assertBalanced(posting)
    for (const { ledgerAccount, amountPico } of posting.entries)
      this.accounts.set(ledgerAccount, (this.accounts.get(ledgerAccount) ?? 0n) + amountPico)
    this.funds = {
      spendablePico: this.funds.spendablePico + balanceChange(posting),
      owedPico: this.funds.owedPico + debtChange(posting),
    }
    this.posted = afterMovement(this.posted, movement)
  }

  sums(): Record<string, bigint> {
    return Object.fromEntries([...this.accounts].filter(([, sum]) => sum !== 0n).sort())
  }
}

describe('any order and repetition of the facts', () => {
  test('ends in the same state and the same sums of the ledger', () => {
    fc.assert(
      fc.property(
        fc.array(anyFact, { maxLength: 10 }).chain((facts) =>
          fc.record({
            facts: fc.constant(facts),
            one: fc.shuffledSubarray(facts, { minLength: facts.length }),
            other: fc.shuffledSubarray(facts, { minLength: facts.length }),
            repeated: fc.array(fc.nat({ max: Math.max(0, facts.length - 1) }), { maxLength: 6 }),
          }),
        ),
        ({ facts, one, other, repeated }) => {
          const again = repeated.flatMap((index) => facts[index] ?? [])
          const told = (order: PaymentFact[]) => {
            const ledger = new Ledger()
            const known: PaymentFact[] = []
            for (const fact of order) {
              known.push(fact)
              ledger.follow(known)
            }
            return { sums: ledger.sums(), posted: ledger.posted, outcome: paymentOutcome(basis, known) }
          }
          const first = told([...one, ...again])
          const second = told([...again, ...other])
          expect(second.sums).toEqual(first.sums)
          expect(second.posted).toEqual(first.posted)
          expect({ ...second.outcome, failureReason: null }).toEqual({
            ...first.outcome,
            failureReason: null,
          })
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test('never brings a balance below zero, and never takes more than came in', () => {
    fc.assert(
      fc.property(fc.array(anyFact, { maxLength: 12 }), fc.nat({ max: 100 }), (facts, spent) => {
        const ledger = new Ledger()
        const known: PaymentFact[] = []
        for (const fact of facts) {
          known.push(fact)
          ledger.follow(known)
          const left = ledger.funds.spendablePico
          // The customer spends in between.
          const spending = left < BigInt(spent) ? left : BigInt(spent)
          ledger.funds = { ...ledger.funds, spendablePico: left - spending }
          expect(ledger.funds.spendablePico).toBeGreaterThanOrEqual(0n)
          expect(ledger.funds.owedPico).toBeGreaterThanOrEqual(0n)
          const { settledPico, returnedPico, disputedPico } = ledger.posted
          expect(returnedPico + disputedPico).toBeLessThanOrEqual(settledPico)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('movementPosting', () => {
  const to = { id: 'pay/1', accountId: 'a', rail: 'paypal' as const }

  test('what the balance does not hold is owed, not taken below zero', () => {
    const posting = movementPosting({ kind: 'refund', amountPico: AMOUNT }, to, {
      spendablePico: 30n,
      owedPico: 0n,
    })
    expect(posting.entries).toEqual([
      { ledgerAccount: 'customer:a', amountPico: -30n },
      { ledgerAccount: 'receivable:a', amountPico: -70n },
      { ledgerAccount: 'rail:paypal', amountPico: 100n },
    ])
  })

  test('what comes in pays debts first', () => {
    const posting = movementPosting({ kind: 'topup', amountPico: AMOUNT }, to, {
      spendablePico: 0n,
      owedPico: 70n,
    })
    expect(posting.entries).toEqual([
      { ledgerAccount: 'customer:a', amountPico: 30n },
      { ledgerAccount: 'receivable:a', amountPico: 70n },
      { ledgerAccount: 'rail:paypal', amountPico: -100n },
    ])
  })
})
