import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FakePaypal, startFakePaypal } from '../helpers/fake-paypal.ts'
import { type FakeStripe, startFakeStripe } from '../helpers/fake-stripe.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

let stack: TestStack
let stripe: FakeStripe
let paypal: FakePaypal

beforeAll(async () => {
  ;[stripe, paypal] = await Promise.all([startFakeStripe(), startFakePaypal()])
  stack = await startStack({
    models: { 'test/plain': [{ at: 'alpha', model: 'words-3' }] },
    environment: { ...stripe.environment, ...paypal.environment },
  })
})
afterAll(async () => {
  await stack.close()
  await Promise.all([stripe.close(), paypal.close()])
})

/** An account with a settled top-up of 25 USD. */
async function settled(rail: 'card' | 'paypal') {
  const { accountId, key } = await stack.account('1.00', { scopes: ['top_ups'] })
  const response = await postAs(key, `${stack.url}/billing/topups`, { rail, amount_usd: '25.00' })
  const { payment_id: paymentId, checkout_url: url } = (await response.json()) as Record<string, string>
  const delivery =
    rail === 'card'
      ? stripe.deliver(stack.url, stripe.pay(url!))
      : paypal.deliver(stack.url, paypal.approve(url!))
  expect((await delivery).status).toBe(200)
  expect(await stateOf(paymentId!)).toBe('settled')
  return { accountId, paymentId: paymentId!, url: url! }
}

const stateOf = async (id: string) =>
  (await stack.postgres.payment.findUniqueOrThrow({ where: { id } })).state
const balanceOf = async (id: string) =>
  (await stack.postgres.account.findUniqueOrThrow({ where: { id } })).balancePico

async function reconcile() {
  const { code, json } = await stack.command('admin', 'topup', 'reconcile')
  expect(code, JSON.stringify(json)).toBe(0)
  return json as { checked: number; foreign: number; failures: number; missed: Record<string, unknown>[] }
}

test('refunds and disputes whose webhooks were lost reach the ledger, once', async () => {
  const [known, refunded, disputed] = [await settled('card'), await settled('card'), await settled('card')]
  const [refundedToo, disputedToo] = [await settled('paypal'), await settled('paypal')]
  await stripe.deliver(stack.url, stripe.refund(known.url, 500))
  const late = stripe.refund(refunded.url, 1_000)
  stripe.dispute(disputed.url, 'needs_response')
  paypal.refunded(refundedToo.url, '7.50')
  paypal.dispute(disputedToo.url)

  const { checked, foreign, failures, missed } = await reconcile()
  expect({ checked, foreign, failures }).toEqual({ checked: 5, foreign: 0, failures: 0 })
  const byId = new Map(missed.map((payment) => [payment.payment_id, payment]))
  expect([...byId.keys()].sort()).toEqual(
    [refunded, disputed, refundedToo, disputedToo].map(({ paymentId }) => paymentId).sort(),
  )
  expect(byId.get(refunded.paymentId)).toMatchObject({ state: 'refunded', refunded_usd: '10.00' })
  expect(byId.get(disputed.paymentId)).toMatchObject({ state: 'disputed', disputed_usd: '25.00' })
  expect(byId.get(refundedToo.paymentId)).toMatchObject({ state: 'refunded', refunded_usd: '7.50' })
  expect(byId.get(disputedToo.paymentId)).toMatchObject({ state: 'disputed', disputed_usd: '25.00' })
  expect(await balanceOf(refunded.accountId)).toBe(16_000_000_000_000n)
  const account = await stack.postgres.account.findUniqueOrThrow({ where: { id: disputed.accountId } })
  expect(account).toMatchObject({ state: 'suspended', balancePico: 1_000_000_000_000n })

  expect((await reconcile()).missed).toEqual([])
  expect((await stripe.deliver(stack.url, late)).status).toBe(200)
  expect(await balanceOf(refunded.accountId)).toBe(16_000_000_000_000n)
})

test('how a dispute ended is learned, too, and a refund that failed since', async () => {
  const [disputed, refunded] = [await settled('card'), await settled('card')]
  stripe.dispute(disputed.url, 'needs_response')
  stripe.refund(refunded.url, 1_000, 'pending', 're_to_fail')
  await reconcile()
  expect(await stateOf(refunded.paymentId)).toBe('refunded')
  stripe.dispute(disputed.url, 'won')
  stripe.refund(refunded.url, 1_000, 'failed', 're_to_fail')
  expect((await reconcile()).missed).toHaveLength(2)
  expect(await stateOf(disputed.paymentId)).toBe('settled')
  expect(await stateOf(refunded.paymentId)).toBe('settled')
  expect(await balanceOf(refunded.accountId)).toBe(26_000_000_000_000n)
})

test('what is not ours is left alone, and one rail that is down does not keep the other from being read', async () => {
  const refunded = await settled('paypal')
  const foreign = stripe.foreignRefund()
  paypal.refunded(refunded.url, '5.00')
  expect((await reconcile()).foreign).toBe(1)
  expect(await stateOf(refunded.paymentId)).toBe('refunded')
  expect(await stack.postgres.paymentEvent.count({ where: { id: { contains: foreign } } })).toBe(0)

  paypal.refunded(refunded.url, '2.00')
  stripe.breakDown(true)
  const { code, json } = await stack.command('admin', 'topup', 'reconcile')
  stripe.breakDown(false)
  expect({ code, failures: json.failures }).toEqual({ code: 1, failures: 3 })
  expect(json.missed).toMatchObject([{ payment_id: refunded.paymentId, refunded_usd: '7.00' }])
})

test('an unknown payment at a rail fails the comparison, and an unreported one is settled', async () => {
  const { accountId, key } = await stack.account('1.00', { scopes: ['top_ups'] })
  const response = await postAs(key, `${stack.url}/billing/topups`, { rail: 'card', amount_usd: '25.00' })
  const { payment_id: paymentId, checkout_url: url } = (await response.json()) as Record<string, string>
  stripe.pay(url!)
  stripe.chargeFor(null, 700)
  expect(await reconcile()).toMatchObject({ missed: [{ payment_id: paymentId }], unknown_payments: [] })
  expect(await balanceOf(accountId)).toBe(26_000_000_000_000n)

  const chargeId = stripe.chargeFor('pay_lost_with_a_restore', 4_200)
  const { code, json } = await stack.command('admin', 'topup', 'reconcile')
  expect(code).toBe(1)
  expect(json.unknown_payments).toEqual([
    { rail: 'stripe', payment_id: 'pay_lost_with_a_restore', charge_id: chargeId, amount_usd: '42.00' },
  ])
})

test('more refunds than a page holds are all read', async () => {
  const { accountId, url } = await settled('card')
  for (let count = 0; count < 120; count++) stripe.refund(url, 1)
  await stack.command('admin', 'topup', 'reconcile')
  expect(await balanceOf(accountId)).toBe(26_000_000_000_000n - 1_200_000_000_000n)
})

test('the ledger is in order after all refunds and disputes', () => expectLedgerInOrder(stack))
