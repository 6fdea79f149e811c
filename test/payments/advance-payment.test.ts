import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { auditLedger } from '../../src/billing/audit/ledger-audit.ts'
import { sweepHolds } from '../../src/billing/holds/hold-sweep.ts'
import { createBalanceStore } from '../../src/billing/ledger/balance-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import type { PaymentFact } from '../../src/core/payments/payment.ts'
import { createAdvancePayment } from '../../src/payments/advance-payment.ts'
import { collectDebts } from '../../src/payments/reconcile-payments.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { openHold } from '../helpers/open-hold.ts'
import { AMOUNT_PICO, refundFact, settledFact, testPayments } from '../helpers/payments.ts'

const OPENING_PICO = 1_000_000_000_000n

describe('advancePayment', () => {
  const kit = testPayments()

  const accountOf = (id: string) => kit.postgres.account.findUniqueOrThrow({ where: { id } })
  const settledAccount = async () => {
    const accountId = await openTestAccount(kit.postgres, OPENING_PICO)
    await kit.load(accountId)
    const payment = await kit.tell(await kit.open(accountId), settledFact)
    return { accountId, payment }
  }

  test('money that is in is in the ledger and in the balance cache', async () => {
    const { accountId, payment } = await settledAccount()
    expect(payment).toMatchObject({ state: 'settled', settledPico: AMOUNT_PICO, movements: 0 })
    expect(await kit.holds.balance(accountId)).toMatchObject({
      availPico: OPENING_PICO + AMOUNT_PICO,
      heldPico: 0n,
    })
    expect(await kit.postgres.ledgerEntry.findMany({ where: { transactionId: payment.id } })).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          kind: 'topup',
          ledgerAccount: `customer:${accountId}`,
          amountPico: AMOUNT_PICO,
        }),
        expect.objectContaining({ kind: 'topup', ledgerAccount: 'rail:stripe', amountPico: -AMOUNT_PICO }),
      ]),
    )
  })

  test('a refund leaves what running calls hold alone; the rest is owed, and collected when they end', async () => {
    const { accountId, payment } = await settledAccount()
    const callId = newCallId()
    const heldPico = 20_000_000_000_000n
    expect((await openHold(kit.redis, accountId, callId, heldPico)).kind).toBe('admitted')
    await kit.tell(payment, refundFact('re_1', AMOUNT_PICO))
    const free = OPENING_PICO + AMOUNT_PICO - heldPico
    expect(await accountOf(accountId)).toMatchObject({
      state: 'suspended',
      balancePico: heldPico,
      owedPico: AMOUNT_PICO - free,
    })
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: 0n, heldPico })
    expect(kit.announced).toContain(accountId)

    // The call costs far less than it held; its settlement is not refused.
    const call = settlementOf(accountId, { id: callId, holdPico: String(heldPico) })
    const { accounts, quarantined } = await createSettlementStore(kit.postgres).settle([call])
    expect(quarantined).toEqual([])
    for (const { released, ...ledger } of accounts) await kit.holds.apply(accountId, ledger, released)
    expect(await collectDebts(kit, 10)).toBe(1)
    const after = await accountOf(accountId)
    expect(after).toMatchObject({ owedPico: 0n, balancePico: OPENING_PICO - 50n })
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: after.balancePico, heldPico: 0n })
  })

  test('a top-up pays what is owed first', async () => {
    const { accountId, payment } = await settledAccount()
    await openHold(kit.redis, accountId, newCallId(), OPENING_PICO + AMOUNT_PICO)
    await kit.tell(payment, refundFact('re_2', 10_000_000_000_000n))
    expect(await accountOf(accountId)).toMatchObject({ owedPico: 10_000_000_000_000n })
    await kit.tell(await kit.open(accountId), settledFact)
    expect(await accountOf(accountId)).toMatchObject({
      owedPico: 0n,
      balancePico: OPENING_PICO + AMOUNT_PICO + AMOUNT_PICO - 10_000_000_000_000n,
      state: 'suspended',
    })
  })

  test('advanced by many at once, it posts once', async () => {
    const accountId = await openTestAccount(kit.postgres, OPENING_PICO)
    const payment = await kit.open(accountId)
    for (const fact of [settledFact, refundFact('re_3', 5n), refundFact('re_4', 7n)])
      await kit.keep(payment, fact)
    await Promise.all(Array.from({ length: 4 }, () => kit.advance(payment.id)))
    expect((await accountOf(accountId)).balancePico).toBe(OPENING_PICO + AMOUNT_PICO - 12n)
  })

  test('an attempt that dies between hold and posting locks nothing up and is not counted', async () => {
    const { accountId, payment } = await settledAccount()
    await kit.keep(payment, refundFact('re_5', AMOUNT_PICO))
    const dying = createAdvancePayment({
      ...kit,
      invoices: null,
      announceAccount: async () => undefined,
      holds: {
        ...kit.holds,
        async reserveTakeback(...args) {
          await kit.holds.reserveTakeback(...args)
          throw new Error('killed')
        },
      },
    })
    await expect(dying(payment.id)).rejects.toThrow('killed')
    expect(await kit.holds.balance(accountId)).toMatchObject({ heldPico: AMOUNT_PICO })
    await kit.advance(payment.id)
    expect(await accountOf(accountId)).toMatchObject({ balancePico: OPENING_PICO, owedPico: 0n })
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: OPENING_PICO, heldPico: 0n })
  })

  test('a hold that an attempt left behind is given back by the sweep', async () => {
    const { accountId } = await settledAccount()
    const ledger = await accountOf(accountId)
    await kit.holds.reserveTakeback(accountId, 1_000n, ledger)
    const settlements = createSettlementStore(kit.postgres)
    const balances = createBalanceStore(kit.postgres)
    const deps = { ...kit, settlements, balances, findQueued: async () => new Set<string>() }
    await sweepHolds([accountId], Date.now(), deps)
    expect(await kit.holds.balance(accountId)).toMatchObject({ heldPico: 1_000n })
    expect(await sweepHolds([accountId], Date.now() + 61_000, deps)).toBe(0)
    expect(await kit.holds.balance(accountId)).toMatchObject({ heldPico: 0n, availPico: ledger.balancePico })
    expect(await kit.postgres.callRecord.count({ where: { accountId } })).toBe(0)
  })

  test('money is taken back from an account whose balance cache is not loaded, and the balance cache loads right', async () => {
    const accountId = await openTestAccount(kit.postgres, OPENING_PICO)
    const payment = await kit.tell(await kit.open(accountId), settledFact, refundFact('re_6', AMOUNT_PICO))
    expect(payment.state).toBe('refunded')
    await kit.load(accountId)
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: OPENING_PICO, heldPico: 0n })
  })

  test('a suspension that an operator ended is not begun again by the same dispute', async () => {
    const { accountId, payment } = await settledAccount()
    const dispute = (outcome: 'open' | 'lost'): PaymentFact => ({
      kind: 'dispute',
      disputeId: 'd',
      amountPico: picoUsd(AMOUNT_PICO),
      outcome,
    })
    await kit.tell(payment, dispute('open'))
    expect(await accountOf(accountId)).toMatchObject({ state: 'suspended', balancePico: OPENING_PICO })
    await kit.postgres.account.update({ where: { id: accountId }, data: { state: 'active' } })
    expect(await kit.tell(payment, dispute('lost'))).toMatchObject({ state: 'disputed', disputedPico: 0n })
    expect(await accountOf(accountId)).toMatchObject({ state: 'active', balancePico: OPENING_PICO })
  })

  test('any order and repetition of concurrent events ends in the same ledger', async () => {
    const facts: PaymentFact[] = [
      { kind: 'processing' },
      settledFact,
      refundFact('re_a', 4_000_000_000_000n),
      refundFact('re_b', 6_000_000_000_000n),
      refundFact('re_b', 6_000_000_000_000n, true),
      { kind: 'refunded_total', amountPico: picoUsd(10_000_000_000_000n) },
      { kind: 'dispute', disputeId: 'd', amountPico: picoUsd(15_000_000_000_000n), outcome: 'open' },
      { kind: 'dispute', disputeId: 'd', amountPico: picoUsd(15_000_000_000_000n), outcome: 'won' },
    ]
    const indices = fc.array(fc.nat({ max: facts.length - 1 }), { maxLength: 14 })
    await fc.assert(
      fc.asyncProperty(indices, async (order) => {
        const accountId = await openTestAccount(kit.postgres, OPENING_PICO)
        await kit.load(accountId)
        const payment = await kit.open(accountId)
        const all = [...order, ...facts.keys()]
        const tellAll = async (some: number[]) => {
          for (const index of some) await kit.tell(payment, facts[index] as PaymentFact)
        }
        await Promise.all([tellAll(all), tellAll(order.toReversed())])
        const rest = await kit.advance(payment.id)
        expect(rest).toMatchObject({ state: 'refunded', returnedPico: 4_000_000_000_000n, disputedPico: 0n })
        const account = await accountOf(accountId)
        expect(account).toMatchObject({
          balancePico: OPENING_PICO + AMOUNT_PICO - 4_000_000_000_000n,
          owedPico: 0n,
          state: 'suspended',
        })
        expect(await kit.holds.balance(accountId)).toMatchObject({
          availPico: account.balancePico,
          heldPico: 0n,
        })
      }),
      { numRuns: 12 },
    )
  })

  test('the ledger is in order after all payments', async () => {
    const { checks, metrics } = await auditLedger(kit.postgres)
    expect(checks.filter((check) => check.broken > 0)).toEqual([])
    expect(metrics.railsPico).toBeLessThan(0n)
  })
})
