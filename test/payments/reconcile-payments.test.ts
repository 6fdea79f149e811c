import { describe, expect, test } from 'vitest'
import { reconcilePayments } from '../../src/payments/reconcile-payments.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { AMOUNT_PICO, noticeOf, settledFact, testPayments } from '../helpers/payments.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

describe('reconcilePayments', () => {
  const kit = testPayments()

  const openPayment = async () => {
    const accountId = await openTestAccount(kit.postgres, 1n)
    return { accountId, payment: await kit.open(accountId) }
  }
  const stateOf = async (id: string) => (await kit.payments.find(id))?.state
  const balanceOf = async (id: string) =>
    (await kit.postgres.account.findUniqueOrThrow({ where: { id } })).balancePico

  test('an event whose receiver died acts after a minute', async () => {
    const { accountId, payment } = await openPayment()
    await kit.keep(payment, settledFact)
    expect(await reconcilePayments(kit)).toMatchObject({ resumed: 0 })
    kit.travel(2 * MINUTE_MS)
    expect(await reconcilePayments(kit)).toMatchObject({ resumed: 1, failures: 0 })
    expect(await balanceOf(accountId)).toBe(1n + AMOUNT_PICO)
    expect(await reconcilePayments(kit)).toMatchObject({ resumed: 0 })
  })

  test('a payment whose webhook never came is asked about, not too often, and settles', async () => {
    const { accountId, payment } = await openPayment()
    kit.travel(6 * MINUTE_MS)
    kit.rail.lookUps = 0
    expect(await reconcilePayments(kit)).toMatchObject({ checked: 1 })
    expect(await reconcilePayments(kit)).toMatchObject({ checked: 0 })
    kit.travel(11 * MINUTE_MS)
    kit.rail.answer = (asked) => [noticeOf(asked, settledFact, { eventId: `session:${asked.id}` })]
    expect(await reconcilePayments(kit)).toMatchObject({ checked: 1, failures: 0 })
    expect(kit.rail.lookUps).toBe(2)
    expect(await stateOf(payment.id)).toBe('settled')
    expect(await balanceOf(accountId)).toBe(1n + AMOUNT_PICO)
  })

  test('an unpaid payment expires after a day, and one in progress at the rail is kept', async () => {
    kit.rail.answer = () => []
    const [abandoned, processing] = [await openPayment(), await openPayment()]
    await kit.tell(processing.payment, { kind: 'processing' })
    kit.travel(23 * HOUR_MS)
    await reconcilePayments(kit)
    expect(await stateOf(abandoned.payment.id)).toBe('pending')
    kit.travel(2 * HOUR_MS)
    expect(await reconcilePayments(kit)).toMatchObject({ expired: 1 })
    expect(await stateOf(abandoned.payment.id)).toBe('expired')
    expect(await stateOf(processing.payment.id)).toBe('pending')
    // Money that comes in after all counts.
    expect(await kit.tell(abandoned.payment, settledFact)).toMatchObject({ state: 'settled' })
  })

  test('one rail that fails keeps no other payment from its check', async () => {
    const [one, other] = [await openPayment(), await openPayment()]
    kit.travel(HOUR_MS)
    kit.rail.answer = (payment) => {
      if (payment.id === one.payment.id) throw new Error('rail is away')
      return payment.id === other.payment.id ? [noticeOf(payment, settledFact)] : []
    }
    const report = await reconcilePayments(kit)
    expect(report.failures).toBe(1)
    expect(await stateOf(other.payment.id)).toBe('settled')
    expect(await stateOf(one.payment.id)).toBe('pending')
  })
})
