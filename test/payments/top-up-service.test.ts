import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { RefundRefused } from '../../src/payments/payment-rail.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { openHold } from '../helpers/open-hold.ts'
import { AMOUNT_PICO, refundFact, settledFact, type TestPayments, testPayments } from '../helpers/payments.ts'

const OPENING_PICO = 1_000_000_000_000n

describe('a refund', () => {
  const kit = testPayments()
  let refundAtRail: TestPayments['rail']['refund']
  beforeAll(() => {
    refundAtRail = kit.rail.refund
  })
  afterEach(() => {
    kit.rail.refund = refundAtRail
  })

  const settledAccount = async () => {
    const accountId = await openTestAccount(kit.postgres, OPENING_PICO)
    await kit.load(accountId)
    const payment = await kit.tell(await kit.open(accountId), settledFact)
    return { accountId, payment }
  }
  const accountOf = (id: string) => kit.postgres.account.findUniqueOrThrow({ where: { id } })

  test('holds its money before the rail is asked, so that no call spends it meanwhile', async () => {
    const { accountId, payment } = await settledAccount()
    let meanwhile: unknown
    kit.rail.refund = async (...asked) => {
      meanwhile = await openHold(kit.redis, accountId, newCallId(), OPENING_PICO + 1n)
      return refundAtRail(...asked)
    }
    expect(await kit.topUps.refund(payment.id, null)).toMatchObject({ kind: 'refunded' })
    expect(meanwhile).toMatchObject({ kind: 'insufficient-balance', availablePico: OPENING_PICO })
    expect(await accountOf(accountId)).toMatchObject({ balancePico: OPENING_PICO, owedPico: 0n })
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: OPENING_PICO, heldPico: 0n })
  })

  test('is posted from its hold, also where the webhook comes before the answer', async () => {
    const { accountId, payment } = await settledAccount()
    await openHold(kit.redis, accountId, newCallId(), OPENING_PICO)
    kit.rail.refund = async (asked, amountPico, key) => {
      await kit.tell(payment, refundFact(key, amountPico))
      return refundAtRail(asked, amountPico, key)
    }
    expect(await kit.topUps.refund(payment.id, AMOUNT_PICO)).toMatchObject({
      kind: 'refunded',
      payment: { state: 'refunded', returnedPico: AMOUNT_PICO },
    })
    expect(await accountOf(accountId)).toMatchObject({ owedPico: 0n, state: 'active' })
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: 0n, heldPico: OPENING_PICO })
  })

  test('of more than the balance has is not asked for, unless it is forced', async () => {
    const { accountId, payment } = await settledAccount()
    const spentPico = OPENING_PICO + 5_000_000_000_000n
    await openHold(kit.redis, accountId, newCallId(), spentPico)
    let asked = 0
    kit.rail.refund = async (...request) => {
      asked += 1
      return refundAtRail(...request)
    }
    const freePico = AMOUNT_PICO - 5_000_000_000_000n
    expect(await kit.topUps.refund(payment.id, null)).toEqual({ kind: 'not_in_balance', freePico })
    expect(asked).toBe(0)
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: freePico, heldPico: spentPico })
    expect(await kit.topUps.refund(payment.id, null, { force: true })).toMatchObject({ kind: 'refunded' })
    expect(asked).toBe(1)
    expect(await accountOf(accountId)).toMatchObject({ state: 'suspended', owedPico: 5_000_000_000_000n })
  })

  test('that the rail refuses gives the money back, and one that it does not answer keeps it held', async () => {
    const { accountId, payment } = await settledAccount()
    kit.rail.refund = async () => {
      throw new RefundRefused('too old')
    }
    expect(await kit.topUps.refund(payment.id, null)).toEqual({ kind: 'refused', reason: 'too old' })
    const whole = { availPico: OPENING_PICO + AMOUNT_PICO, heldPico: 0n }
    expect(await kit.holds.balance(accountId)).toMatchObject(whole)
    kit.rail.refund = async () => {
      throw new Error('no answer')
    }
    for (let times = 0; times < 2; times++) {
      await expect(kit.topUps.refund(payment.id, null)).rejects.toThrow('no answer')
      expect(await kit.holds.balance(accountId)).toMatchObject({
        availPico: OPENING_PICO,
        heldPico: AMOUNT_PICO,
      })
    }
    kit.rail.refund = refundAtRail
    expect(await kit.topUps.refund(payment.id, null)).toMatchObject({ kind: 'refunded' })
    expect(await kit.holds.balance(accountId)).toMatchObject({ availPico: OPENING_PICO, heldPico: 0n })
  })
})
