import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { type FakePaypal, startFakePaypal } from '../helpers/fake-paypal.ts'
import { type FakeStripe, startFakeStripe } from '../helpers/fake-stripe.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { settleSpending } from '../helpers/spending.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

const MODELS = { 'test/large': [{ at: 'alpha', model: 'words-12' }] }

interface View {
  payment_id: string
  state: string
  checkout_url: string
  amount_usd: string
  refunded_usd: string
  disputed_usd: string
  failure_reason: string | null
}

const MAY_TOP_UP = { scopes: ['top_ups'] }

describe('top-ups', () => {
  let stack: TestStack
  let stripe: FakeStripe
  let paypal: FakePaypal

  beforeAll(async () => {
    ;[stripe, paypal] = await Promise.all([startFakeStripe(), startFakePaypal()])
    const rails = { ...stripe.environment, ...paypal.environment, PAYMENTS_DEVELOPMENT_RAIL: 'true' }
    stack = await startStack({ models: MODELS, environment: rails })
  })
  afterAll(async () => {
    await stack.close()
    await Promise.all([stripe.close(), paypal.close()])
  })

  const request = async (
    key: string,
    path: string,
    body?: unknown,
    // biome-ignore lint/suspicious/noExplicitAny: whatever an answer holds
  ): Promise<{ status: number; json: any }> => {
    const response = await fetch(`${stack.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: await response.json() }
  }
  const open = async (key: string, rail: string, amount_usd: unknown = '25.00'): Promise<View> => {
    const { status, json } = await request(key, '/billing/topups', { rail, amount_usd })
    expect(status, JSON.stringify(json)).toBe(201)
    return json
  }
  const show = async (key: string, { payment_id }: View): Promise<View> =>
    (await request(key, `/billing/topups/${payment_id}`)).json
  const ok = async (delivery: Promise<Response>): Promise<void> => {
    const response = await delivery
    expect(response.status, await response.text()).toBe(200)
  }
  const balance = async (accountId: string) => {
    const { balancePico, owedPico, state } = await stack.postgres.account.findUniqueOrThrow({
      where: { id: accountId },
    })
    return { usd: Number(balancePico) / 1e12, owed: Number(owedPico) / 1e12, state }
  }
  const spendable = async (accountId: string) =>
    Number(await stack.redis.hget(accountKeys(accountId).record, 'avail')) / 1e12

  describe('by card', () => {
    test('a balance is filled when the checkout settles, not before, and can be spent at once', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      expect(payment).toMatchObject({ rail: 'card', test: false, state: 'pending', amount_usd: '25.00' })
      expect(payment.checkout_url).toMatch(/^https:\/\/checkout\.stripe\.test\//)
      expect((await balance(accountId)).usd).toBe(1)
      await ok(stripe.deliver(stack.url, stripe.pay(payment.checkout_url)))
      expect(await show(key, payment)).toMatchObject({ state: 'settled', checkout_url: null })
      expect(await balance(accountId)).toEqual({ usd: 26, owed: 0, state: 'active' })
      const events = await stack.postgres.event.findMany({ where: { accountId, type: 'topup.settled' } })
      expect(events.map(({ data }) => data)).toEqual([
        { payment_id: payment.payment_id, amount_usd: '25.00', test: false },
      ])
      const call = await request(key, '/v1/chat/completions', {
        model: 'test/large',
        messages: [{ role: 'user', content: 'hello' }],
      })
      expect(call.status).toBe(200)
    })

    test('an exhausted account can pay its way back', async () => {
      const { accountId, key } = await stack.account('0', MAY_TOP_UP)
      const payment = await open(key, 'card', 5)
      await ok(stripe.deliver(stack.url, stripe.pay(payment.checkout_url)))
      expect(await balance(accountId)).toEqual({ usd: 5, owed: 0, state: 'active' })
    })

    test('the same event twenty times at once fills the balance once', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const event = stripe.pay(payment.checkout_url)
      await Promise.all(Array.from({ length: 20 }, () => ok(stripe.deliver(stack.url, event))))
      expect((await balance(accountId)).usd).toBe(26)
    })

    test('two concurrent events about one payment credit it once', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const [one, other] = [stripe.pay(payment.checkout_url), stripe.pay(payment.checkout_url)]
      await Promise.all([ok(stripe.deliver(stack.url, one)), ok(stripe.deliver(stack.url, other))])
      expect((await balance(accountId)).usd).toBe(26)
    })

    test('forged, altered, stale and unsigned webhooks are refused and kept nowhere', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const event = stripe.pay(payment.checkout_url)
      const deliveries = await Promise.all([
        stripe.deliver(stack.url, event, { secret: 'whsec_other' }),
        stripe.deliver(stack.url, event, { ageSeconds: 301 }),
        stripe.deliver(stack.url, event, { ageSeconds: -3_600 }),
        fetch(`${stack.url}/webhooks/stripe`, { method: 'POST', body: JSON.stringify(event) }),
        fetch(`${stack.url}/webhooks/stripe`, {
          method: 'POST',
          headers: { 'stripe-signature': 't=1,v1=00', 'content-type': 'application/json' },
          body: '{',
        }),
      ])
      expect(deliveries.map((response) => response.status)).toEqual([400, 400, 400, 400, 400])
      expect((await balance(accountId)).usd).toBe(1)
      expect(await stack.postgres.paymentEvent.count({ where: { id: event.id } })).toBe(0)
      await ok(stripe.deliver(stack.url, event))
      expect((await balance(accountId)).usd).toBe(26)
    })

    test('a flood of forgeries shuts out no genuine webhook', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const event = stripe.pay(payment.checkout_url)
      const forge = () => stripe.deliver(stack.url, event, { secret: 'whsec_other' })
      const flood = Array.from({ length: 300 }, forge)
      const genuine = await Promise.all(Array.from({ length: 30 }, () => stripe.deliver(stack.url, event)))
      expect(genuine.map(({ status }) => status)).toEqual(Array(30).fill(200))
      for (const { status } of await Promise.all(flood)) expect(status).toBe(400)
      expect((await balance(accountId)).usd).toBe(26)
    })

    test('an event of an unknown payment is stored and acknowledged', async () => {
      const { key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const event = stripe.pay(payment.checkout_url, {
        id: 'cs_elsewhere',
        metadata: {},
        client_reference_id: null,
      })
      await ok(stripe.deliver(stack.url, event))
      await ok(stripe.deliver(stack.url, event))
      const kept = await stack.postgres.paymentEvent.findMany({ where: { id: event.id } })
      expect(kept).toEqual([expect.objectContaining({ paymentId: null, outcome: null })])
    })

    test('events of no concern, and signed nonsense, are answered 200', async () => {
      const event = (type: string, object: object) => ({
        id: `evt_${type}`,
        object: 'event',
        type,
        data: { object },
      })
      await ok(stripe.deliver(stack.url, event('customer.created', { id: 'cus_1' })))
      await ok(stripe.deliver(stack.url, event('charge.refunded', { currency: 'eur', amount_refunded: 5 })))
      await ok(stripe.deliver(stack.url, event('refund.created', {})))
      const outcomes = await stack.postgres.paymentEvent.findMany({
        where: { id: { in: ['evt_customer.created', 'evt_charge.refunded', 'evt_refund.created'] } },
        orderBy: { id: 'asc' },
      })
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['refused', 'ignored', 'refused'])
    })

    test('another amount than was asked for fills nothing', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const event = stripe.pay(payment.checkout_url, { amount_total: 2_499 })
      await ok(stripe.deliver(stack.url, event))
      expect(await show(key, payment)).toMatchObject({ state: 'pending' })
      expect((await balance(accountId)).usd).toBe(1)
      const shown = await stack.command('admin', 'topup', 'show', payment.payment_id)
      expect(shown.json.events).toEqual([expect.objectContaining({ id: event.id, outcome: 'refused' })])
    })

    test('an expired checkout expires the top-up, with an event for the account', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      await ok(stripe.deliver(stack.url, stripe.lapse(payment.checkout_url)))
      expect(await show(key, payment)).toMatchObject({ state: 'expired', checkout_url: null })
      const events = await stack.postgres.event.findMany({ where: { accountId, type: 'topup.failed' } })
      expect(events.map(({ data }) => data)).toEqual([expect.objectContaining({ reason: 'expired' })])
    })

    test('a checkout that cannot be opened fails the top-up with a 503', async () => {
      const { key } = await stack.account('1.00', MAY_TOP_UP)
      stripe.breakDown(true)
      const { status, json } = await request(key, '/billing/topups', { rail: 'card', amount_usd: '25' })
      stripe.breakDown(false)
      expect(status).toBe(503)
      expect(json.error.code).toBe('overloaded')
      const { json: history } = await request(key, '/billing/topups')
      expect(history.data).toEqual([expect.objectContaining({ state: 'failed' })])
    })
  })

  describe('money that goes back', () => {
    const settle = async (startUsd = '1.00') => {
      const { accountId, key } = await stack.account(startUsd, MAY_TOP_UP)
      const payment = await open(key, 'card')
      await ok(stripe.deliver(stack.url, stripe.pay(payment.checkout_url)))
      // Loads the balance cache, as a first call does.
      await request(key, '/v1/chat/completions', {
        model: 'test/large',
        messages: [{ role: 'user', content: 'x' }],
      })
      await stack.settled(accountId)
      return { accountId, key, payment, url: payment.checkout_url }
    }

    test('a partial refund is taken from the balance once, in whatever form and number it is reported', async () => {
      const { accountId, key, payment, url } = await settle()
      const before = (await balance(accountId)).usd
      const refund = stripe.refund(url, 1_000)
      await ok(stripe.deliver(stack.url, refund))
      await ok(stripe.deliver(stack.url, stripe.chargeRefunded(url, 1_000)))
      await ok(stripe.deliver(stack.url, refund))
      expect(await show(key, payment)).toMatchObject({ state: 'refunded', refunded_usd: '10.00' })
      expect((await balance(accountId)).usd).toBeCloseTo(before - 10, 12)
      expect(await spendable(accountId)).toBeCloseTo(before - 10, 12)
    })

    test('a refund that fails afterwards is given back', async () => {
      const { accountId, key, payment, url } = await settle()
      const before = (await balance(accountId)).usd
      await ok(stripe.deliver(stack.url, stripe.refund(url, 1_000, 'pending', 're_fails')))
      expect((await balance(accountId)).usd).toBeCloseTo(before - 10, 12)
      await ok(stripe.deliver(stack.url, stripe.refund(url, 1_000, 'failed', 're_fails')))
      expect(await show(key, payment)).toMatchObject({ state: 'settled', refunded_usd: '0.00' })
      expect((await balance(accountId)).usd).toBeCloseTo(before, 12)
    })

    test('a refund before the payment is known waits for it', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const paid = stripe.pay(payment.checkout_url)
      await ok(stripe.deliver(stack.url, stripe.refund(payment.checkout_url, 2_500)))
      expect((await balance(accountId)).usd).toBe(1)
      await ok(stripe.deliver(stack.url, paid))
      expect(await show(key, payment)).toMatchObject({ state: 'refunded', refunded_usd: '25.00' })
      expect(await balance(accountId)).toEqual({ usd: 1, owed: 0, state: 'active' })
    })

    test('a dispute before the payment is known names only the charge, and finds it later', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'card')
      const paid = stripe.pay(payment.checkout_url)
      await ok(stripe.deliver(stack.url, stripe.dispute(payment.checkout_url, 'needs_response')))
      await ok(stripe.deliver(stack.url, paid))
      expect(await stack.postgres.payment.findUnique({ where: { id: payment.payment_id } })).toMatchObject({
        state: 'disputed',
        disputedPico: 25_000_000_000_000n,
      })
      expect(await balance(accountId)).toEqual({ usd: 1, owed: 0, state: 'suspended' })
    })

    test('what was spent already is owed, and the account is suspended on record; its keys are refused', async () => {
      const { accountId, key, payment, url } = await settle('0')
      await settleSpending(stack, accountId, parseUsd('20'))
      await ok(stripe.deliver(stack.url, stripe.refund(url, 2_500)))
      const after = await balance(accountId)
      expect(after.state).toBe('suspended')
      expect(after.usd).toBe(0)
      expect(after.owed).toBeGreaterThan(19.9)
      expect(await spendable(accountId)).toBe(0)
      await expect
        .poll(async () => (await request(key, '/v1/models')).json.error?.code)
        .toBe('account_suspended')
      const shown = await stack.command('admin', 'topup', 'show', payment.payment_id)
      expect(shown.json).toMatchObject({
        state: 'refunded',
        suspensions: [{ reason: 'shortfall', shortfall_usd: expect.stringMatching(/^20\.0/) }],
      })
    })

    test('a dispute takes the money and suspends; won, it comes back; an operator resumes', async () => {
      const { accountId, key, payment, url } = await settle()
      const before = (await balance(accountId)).usd
      await ok(stripe.deliver(stack.url, stripe.dispute(url, 'needs_response')))
      expect(await balance(accountId)).toMatchObject({ state: 'suspended' })
      expect((await balance(accountId)).usd).toBeCloseTo(before - 25, 12)
      await stack.command('admin', 'account', 'resume', accountId)
      await ok(stripe.deliver(stack.url, stripe.dispute(url, 'won')))
      expect((await balance(accountId)).usd).toBeCloseTo(before, 12)
      expect(await balance(accountId)).toMatchObject({ state: 'active' })
      expect(await show(key, payment)).toMatchObject({ state: 'settled', disputed_usd: '0.00' })
    })

    test('a lost dispute stays lost when its events arrive out of order', async () => {
      const { accountId, url } = await settle()
      const before = (await balance(accountId)).usd
      await ok(stripe.deliver(stack.url, stripe.dispute(url, 'lost')))
      await ok(stripe.deliver(stack.url, stripe.dispute(url, 'needs_response')))
      expect((await balance(accountId)).usd).toBeCloseTo(before - 25, 12)
      expect(await balance(accountId)).toMatchObject({ state: 'suspended', owed: 0 })
    })

    test('an inquiry withdraws nothing', async () => {
      const { accountId, url } = await settle()
      await ok(stripe.deliver(stack.url, stripe.dispute(url, 'warning_needs_response')))
      expect(await balance(accountId)).toMatchObject({ state: 'active' })
    })

    test.each([
      ['fails later', 'pending'],
      ['fails at once', 'failed'],
      ['is refused', { status: 400 }],
    ] as const)('a refund that %s can be made again, once', async (_how, answer) => {
      const { accountId, payment, url } = await settle()
      const before = (await balance(accountId)).usd
      const refund = () => stack.command('admin', 'topup', 'refund', payment.payment_id, '--amount', '10')
      const known = new Set(stripe.refundIds())
      stripe.answerRefunds(answer)
      const first = await refund()
      expect(first.code).toBe(answer === 'pending' ? 0 : 1)
      stripe.answerRefunds('succeeded')
      if (answer === 'pending') {
        const [id] = stripe.refundIds().filter((made) => !known.has(made))
        await ok(stripe.deliver(stack.url, stripe.refund(url, 1_000, 'failed', id)))
      }
      expect((await balance(accountId)).usd).toBeCloseTo(before, 12)
      expect(await refund()).toMatchObject({ code: 0, json: { state: 'refunded', refunded_usd: '10.00' } })
      expect((await balance(accountId)).usd).toBeCloseTo(before - 10, 12)
    })

    test("an operator's refund goes to the rail once and is not counted again by its webhook", async () => {
      const { accountId, payment, url } = await settle()
      const before = (await balance(accountId)).usd
      const refunded = await stack.command('admin', 'topup', 'refund', payment.payment_id, '--amount', '10')
      expect(refunded).toMatchObject({ code: 0, json: { state: 'refunded', refunded_usd: '10.00' } })
      await ok(stripe.deliver(stack.url, stripe.chargeRefunded(url, 1_000)))
      expect((await balance(accountId)).usd).toBeCloseTo(before - 10, 12)
      const tooMuch = await stack.command('admin', 'topup', 'refund', payment.payment_id, '--amount', '15.01')
      expect(tooMuch).toMatchObject({ code: 1, json: { error: expect.stringContaining('15.00 USD') } })
      const rest = await stack.command('admin', 'topup', 'refund', payment.payment_id)
      expect(rest.json).toMatchObject({ refunded_usd: '25.00' })
    })
  })

  describe('by PayPal', () => {
    test('an approved PayPal order is captured and credited once, whatever other events arrive', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'paypal', '50')
      expect(payment).toMatchObject({ rail: 'paypal', state: 'pending', amount_usd: '50.00' })
      const approved = paypal.approve(payment.checkout_url)
      await Promise.all([ok(paypal.deliver(stack.url, approved)), ok(paypal.deliver(stack.url, approved))])
      await ok(paypal.deliver(stack.url, paypal.captured(payment.checkout_url)))
      expect(await show(key, payment)).toMatchObject({ state: 'settled' })
      expect((await balance(accountId)).usd).toBe(51)
    })

    test('a forged webhook is refused; genuine bytes pass unchanged, spaces and all', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'paypal')
      paypal.approve(payment.checkout_url)
      const event = { ...paypal.captured(payment.checkout_url), note: 'ünï 🚂' }
      expect((await paypal.deliver(stack.url, event, { forged: true })).status).toBe(400)
      expect((await paypal.deliver(stack.url, '{"id":"x"},"webhook_id":"y"')).status).toBe(400)
      expect(
        (await fetch(`${stack.url}/webhooks/paypal`, { method: 'POST', body: JSON.stringify(event) })).status,
      ).toBe(400)
      expect((await balance(accountId)).usd).toBe(1)
      await ok(paypal.deliver(stack.url, JSON.stringify(paypal.approve(payment.checkout_url), null, 3)))
      expect((await balance(accountId)).usd).toBe(26)
    })

    test('while PayPal cannot be asked, a webhook is answered 503, and acts when it comes again', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'paypal')
      const approved = paypal.approve(payment.checkout_url)
      paypal.breakDown(true)
      expect((await paypal.deliver(stack.url, approved)).status).toBe(503)
      paypal.breakDown(false)
      await ok(paypal.deliver(stack.url, approved))
      expect((await balance(accountId)).usd).toBe(26)
    })

    test('refunds and disputes are taken back, by the charge they name', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'paypal')
      await ok(paypal.deliver(stack.url, paypal.approve(payment.checkout_url)))
      await ok(paypal.deliver(stack.url, paypal.refunded(payment.checkout_url, '5.00')))
      expect(await balance(accountId)).toEqual({ usd: 21, owed: 0, state: 'active' })
      await ok(paypal.deliver(stack.url, paypal.dispute(payment.checkout_url)))
      expect(await balance(accountId)).toEqual({ usd: 1, owed: 0, state: 'suspended' })
      await ok(paypal.deliver(stack.url, paypal.dispute(payment.checkout_url, 'RESOLVED_SELLER_FAVOUR')))
      expect(await balance(accountId)).toEqual({ usd: 21, owed: 0, state: 'suspended' })
    })

    test("an operator's refund goes to PayPal", async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'paypal')
      await ok(paypal.deliver(stack.url, paypal.approve(payment.checkout_url)))
      const refunded = await stack.command('admin', 'topup', 'refund', payment.payment_id)
      expect(refunded.json).toMatchObject({ state: 'refunded', refunded_usd: '25.00' })
      expect((await balance(accountId)).usd).toBe(1)
    })
  })

  describe('on the development rail', () => {
    test('settles at once and says that it is a test', async () => {
      const { accountId, key } = await stack.account('1.00', MAY_TOP_UP)
      const payment = await open(key, 'development', '100')
      expect(payment).toMatchObject({
        rail: 'development',
        test: true,
        state: 'settled',
        checkout_url: null,
        amount_usd: '100.00',
      })
      expect((await balance(accountId)).usd).toBe(101)
      expect((await fetch(`${stack.url}/webhooks/development`, { method: 'POST', body: '{}' })).status).toBe(
        404,
      )
    })

    test('the commands do the same', async () => {
      const { accountId } = await stack.account('1.00', MAY_TOP_UP)
      const args = ['--account', accountId, '--amount', '25', '--rail', 'development']
      const created = await stack.command('admin', 'topup', 'create', ...args)
      expect(created).toMatchObject({ code: 0, json: { state: 'settled', test: true } })
      const id = String(created.json.payment_id)
      expect((await stack.command('admin', 'topup', 'list', '--account', accountId)).json).toMatchObject({
        topups: [{ payment_id: id }],
      })
      const refunded = await stack.command('admin', 'topup', 'refund', id, '--amount', '5')
      expect(refunded.json).toMatchObject({ refunded_usd: '5.00' })
      expect((await balance(accountId)).usd).toBe(21)
    })
  })

  describe('the request', () => {
    test.each([
      [{ rail: 'card' }, 'amount_usd'],
      [{ rail: 'card', amount_usd: '4.99' }, 'amount_usd'],
      [{ amount_usd: '25' }, 'rail'],
      [{ rail: 'stripe', amount_usd: '25' }, 'rail'],
      [[], 'rail'],
      ['x', 'rail'],
    ])('%o is refused, naming %s', async (body, param) => {
      const { key } = await stack.account('1.00', MAY_TOP_UP)
      const { status, json } = await request(key, '/billing/topups', body)
      expect({ status, param: json.error.param }).toEqual({ status: 400, param })
    })

    test('needs a standard key', async () => {
      const admin = await stack.adminKey()
      expect((await request('nonsense', '/billing/topups')).status).toBe(401)
      expect((await request(admin, '/billing/topups')).status).toBe(403)
    })

    test("shows an account's own top-ups only, newest first, by the page", async () => {
      const mine = await stack.account('1.00', MAY_TOP_UP)
      const other = await stack.account('1.00', MAY_TOP_UP)
      const made: View[] = []
      for (const amount of [5, 25, 50]) made.push(await open(mine.key, 'development', amount))
      const [first] = made
      expect((await request(other.key, `/billing/topups/${first?.payment_id}`)).status).toBe(404)
      const page = await request(mine.key, '/billing/topups?limit=2')
      expect(page.json).toMatchObject({
        data: [{ amount_usd: '50.00' }, { amount_usd: '25.00' }],
        has_more: true,
        options: {
          presets_usd: ['5.00', '25.00', '50.00', '100.00'],
          min_usd: '5.00',
          max_usd: '10000.00',
          rails: ['card', 'paypal', 'development'],
        },
      })
      const next = await request(mine.key, `/billing/topups?before=${page.json.data[1].payment_id}`)
      expect(next.json).toMatchObject({ data: [{ amount_usd: '5.00' }], has_more: false })
    })

    test('an account has so many unpaid top-ups and no more', async () => {
      const { key } = await stack.account('1.00', MAY_TOP_UP)
      for (let index = 0; index < 20; index++) await open(key, 'card')
      const { status, json } = await request(key, '/billing/topups', { rail: 'card', amount_usd: '25' })
      expect({ status, code: json.error.code }).toEqual({ status: 429, code: 'rate_limit_exceeded' })
    })
  })
  test('the ledger is in order after all top-ups', () => expectLedgerInOrder(stack))
})
