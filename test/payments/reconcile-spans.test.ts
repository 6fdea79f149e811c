import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Payment } from '../../src/payments/payment-store.ts'
import { createPaypalRail } from '../../src/payments/paypal-rail.ts'
import { spansSince } from '../../src/payments/reconcile-returns.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { type FakePaypal, startFakePaypal } from '../helpers/fake-paypal.ts'
import { settledFact, testPayments } from '../helpers/payments.ts'

const DAY_MS = 86_400_000
const NOW_MS = 200 * DAY_MS

describe('the periods that are reconciled', () => {
  test('are all of half a year at first, and twelve days of it once a day', () => {
    const all = [{ fromMs: NOW_MS - 179 * DAY_MS, toMs: NOW_MS }]
    expect(spansSince(null, NOW_MS)).toEqual(all)
    expect(spansSince(0, NOW_MS)).toEqual(all)
    const daily = spansSince(NOW_MS - DAY_MS, NOW_MS)
    const days = daily.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs) / DAY_MS, 0)
    expect(days).toBe(12)
    expect(daily.at(-1)).toEqual({ fromMs: NOW_MS - 3 * DAY_MS, toMs: NOW_MS })
  })

  test('have everything once at each age, however irregular the runs are', () => {
    const runs = [0, 1, 1.5, 4, 4.1, 40, 41, 178, 200, 230].map((day) => NOW_MS + day * DAY_MS)
    const atMs = NOW_MS + 1.25 * DAY_MS
    const seen = runs
      .slice(1)
      .filter((untilMs, index) =>
        spansSince(runs[index]!, untilMs).some(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs),
      )
    // At the ages of 0 to 2 days, then 4 to 30 together after a long pause, 60 to 150 in another, and 178.
    expect(seen.map((untilMs) => (untilMs - NOW_MS) / DAY_MS)).toEqual([1.5, 4, 40, 178, 200])
  })
})

describe('payments settled within a period', () => {
  const kit = testPayments()

  test('are read in pages, in order, each once', async () => {
    const account = await openTestAccount(kit.postgres, 1n)
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1) {
      const payment = await kit.open(account)
      await kit.tell(payment, settledFact)
      ids.push(payment.id)
    }
    // Two of them at the same instant.
    for (const [index, id] of ids.entries())
      await kit.postgres.payment.update({
        where: { id },
        data: { settledAt: new Date(NOW_MS + Math.min(index, 3) * 1_000) },
      })
    const span = { fromMs: NOW_MS + 1_000, toMs: NOW_MS + 3_001 }
    const read: string[] = []
    let last: Payment | undefined
    do {
      const page: Payment[] = await kit.payments.settledWithin('stripe', span, last ?? null, 2)
      read.push(...page.map(({ id }) => id))
      last = page.at(-1)
    } while (last)
    expect(read).toEqual([ids[1], ids[2], ...ids.slice(3).sort()])
  })
})

describe('refunds at PayPal', () => {
  let paypal: FakePaypal
  beforeAll(async () => {
    paypal = await startFakePaypal()
  })
  afterAll(() => paypal.close())

  /** A captured order of a payment. */
  const captured = async (id: string) => {
    const { PAYPAL_API_BASE: apiBase, PAYPAL_WEBHOOK_ID: webhookId } = paypal.environment
    const settings = { apiBase: apiBase!, clientId: 'client', clientSecret: 'secret', webhookId: webhookId! }
    const rail = createPaypalRail(settings, 'https://gateway.test')
    const opened = { id, amountPico: 25_000_000_000_000n, checkoutId: null } as Payment
    const { checkoutId, checkoutUrl } = await rail.openCheckout(opened)
    paypal.approve(checkoutUrl!)
    const payment = { ...opened, checkoutId } as Payment
    const [notice] = await rail.lookUp(payment)
    return { rail, url: checkoutUrl!, payment: { ...payment, chargeId: notice!.chargeId } }
  }

  test('are found by the orders of payments without the permission to search, and by their time with it', async () => {
    const [one, other] = [await captured('pay_1'), await captured('pay_2')]
    paypal.refunded(one.url, '5.00')
    paypal.refunded(one.url, '2.00')
    const payments = [one.payment, other.payment]
    const lists = async () => {
      const before = paypal.requests.length
      const notices = []
      const spans = [{ fromMs: Date.now() - 179 * DAY_MS, toMs: Date.now() + 1_000 }]
      const settled = (async function* () {
        yield* payments
      })()
      const findCharged = async (id: string) => payments.find(({ chargeId }) => chargeId === id) ?? null
      for await (const notice of one.rail.listRefunds(spans, { settled, findCharged })) notices.push(notice)
      const paths = paypal.requests.slice(before).map(({ path }) => path)
      return { notices, orders: paths.filter((path) => path.startsWith('/v2/checkout/orders')).length, paths }
    }
    const byOrder = await lists()
    expect(byOrder.orders).toBe(2)
    expect(byOrder.notices.map(({ paymentId, fact }) => [paymentId, fact?.kind])).toEqual([
      ['pay_1', 'refund'],
      ['pay_1', 'refund'],
    ])
    paypal.permitSearch()
    const byTime = await lists()
    expect(byTime.notices).toEqual(byOrder.notices)
    expect(byTime.orders).toBe(1)
    // Half a year is six searches of 31 days at most; the last one has two refunds, one a page.
    expect(byTime.paths.filter((path) => path === '/v1/reporting/transactions')).toHaveLength(7)
  })
})
