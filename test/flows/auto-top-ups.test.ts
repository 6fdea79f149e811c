import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { readConfig } from '../../src/config.ts'
import type { AutoTopUpView } from '../../src/core/api/auto-top-up.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { FAILURES_OF_THE_CARD } from '../../src/core/payments/card-failure.ts'
import { createPayments, type Payments } from '../../src/payments/create-payments.ts'
import { reconcilePayments } from '../../src/payments/reconcile-payments.ts'
import { type AutoTopUpReport, runAutoTopUps } from '../../src/payments/run-auto-top-ups.ts'
import { type ConsoleClient, PASSWORD, signedUp } from '../helpers/console-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { type FakeStripe, startFakeStripe } from '../helpers/fake-stripe.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { openHold } from '../helpers/open-hold.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { CHAT_PATH, MESSAGES } from '../http/wire.ts'

const MINUTE_MS = 60_000
const CHOSEN = { enabled: true, threshold_usd: '5.00', amount_usd: '25.00', monthly_maximum_usd: '60.00' }

let stack: TestStack
let stripe: FakeStripe
/** A process of its own, whose clock the tests set: the one of the stack finds nothing that waits for it. */
let payments: Payments
let shiftMs = 0
const logger = pino({ level: 'silent' })
const clock = () => Date.now() + shiftMs

beforeAll(async () => {
  stripe = await startFakeStripe()
  stack = await startStack({
    models: { 'test/plain': [{ at: 'alpha', model: 'words-3' }] },
    environment: { ...stripe.environment },
  })
  // Steps are taken by the tests.
  await stack.settlement.stop()
  const deps = { postgres: stack.postgres, holds: createHoldStore(stack.redis), logger, clock }
  payments = await createPayments(readConfig(stack.environment), {
    ...deps,
    announceAccount: async () => undefined,
  })
})
afterAll(async () => {
  await stack.close()
  await stripe.close()
})
beforeEach(() => {
  shiftMs = 0
  stripe.cards.answerCharges('succeeded')
  stripe.loseAnswers(false)
})

const run = (): Promise<AutoTopUpReport> =>
  runAutoTopUps({
    ...payments,
    redis: stack.redis,
    holds: createHoldStore(stack.redis),
    logger,
    clock,
  })
const reconcile = () =>
  reconcilePayments({
    ...payments,
    postgres: stack.postgres,
    holds: createHoldStore(stack.redis),
    logger,
    clock,
  })

interface Holder {
  client: ConsoleClient
  accountId: string
}

async function holder(): Promise<Holder> {
  const client = await signedUp(stack.url)
  const { account } = await client.json<{ account: { id: string } }>('/console/api/session')
  return { client, accountId: account.id }
}

const view = ({ client }: Holder) => client.json<AutoTopUpView>('/console/api/auto-top-up')
const choose = ({ client }: Holder, settings: object = {}) =>
  client.json<AutoTopUpView>('/console/api/auto-top-up', {
    method: 'PATCH',
    body: { ...CHOSEN, ...settings },
  })

async function saveCard({ client }: Holder, card?: { brand: string; last4: string }): Promise<string> {
  const { id, url } = await client.json<{ id: string; url: string }>('/console/api/saved-card', { body: {} })
  stripe.cards.saveCard(url, card)
  await client.json('/console/api/saved-card/confirm', { body: { id } })
  return url
}

/** An account with half a dollar, a saved card and automatic top-ups. */
async function ready(settings: object = {}): Promise<Holder> {
  const found = await holder()
  await saveCard(found)
  await choose(found, settings)
  return found
}

const balanceOf = async ({ accountId }: Holder) =>
  Number((await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).balancePico) / 1e12
const paymentsOf = ({ accountId }: Holder) =>
  stack.postgres.payment.findMany({ where: { accountId }, orderBy: { id: 'asc' } })
const intentsOf = (paymentId: string) =>
  [...stripe.cards.intents.values()].filter(({ metadata }) => metadata.payment_id === paymentId)
const eventsOf = ({ accountId }: Holder, type: string) =>
  stack.postgres.event.findMany({ where: { accountId, type }, orderBy: { createdAt: 'asc' } })

test('a card is saved on a page of Stripe, replaced and removed, and only its ids are stored', async () => {
  const someone = await holder()
  expect(await view(someone)).toMatchObject({ available: true, test: false, card: null, settings: null })
  await expect(choose(someone)).rejects.toThrow('Save a card first')
  await saveCard(someone)
  expect((await view(someone)).card).toMatchObject({ brand: 'visa', last4: '4242', exp_year: 2031 })
  const [first] = stripe.cards.methods.keys()

  await saveCard(someone, { brand: 'mastercard', last4: '4444' })
  expect((await view(someone)).card).toMatchObject({ brand: 'mastercard', last4: '4444' })
  expect(stripe.cards.methods.has(first!)).toBe(false)
  const customers = await stack.postgres.railCustomer.findMany({ where: { accountId: someone.accountId } })
  expect(customers).toHaveLength(1)

  await choose(someone)
  expect((await someone.client.ask('/console/api/saved-card', { method: 'DELETE' })).status).toBe(204)
  expect(await view(someone)).toMatchObject({ card: null, settings: { enabled: false } })
  expect([...stripe.cards.methods.values()]).not.toContain(customers[0]!.customerId)
})

test('a holder who does not come back has the card by the webhook, once, and never after its removal', async () => {
  const someone = await holder()
  const { client } = someone
  const { id, url } = await client.json<{ id: string; url: string }>('/console/api/saved-card', { body: {} })
  await client.json('/console/api/saved-card/confirm', { body: { id } })
  expect((await view(someone)).card).toBeNull()
  stripe.cards.saveCard(url)
  const event = stripe.cardSaved(url)
  expect((await stripe.deliver(stack.url, event)).status).toBe(200)
  expect((await view(someone)).card).toMatchObject({ last4: '4242' })
  await client.ask('/console/api/saved-card', { method: 'DELETE' })
  expect((await stripe.deliver(stack.url, { ...event, id: 'evt_again' })).status).toBe(200)
  expect((await view(someone)).card).toBeNull()
})

test("another account's page saves no card", async () => {
  const [one, other] = [await holder(), await holder()]
  const { id, url } = await one.client.json<{ id: string; url: string }>('/console/api/saved-card', {
    body: {},
  })
  stripe.cards.saveCard(url)
  const answer = await other.client.json<AutoTopUpView>('/console/api/saved-card/confirm', { body: { id } })
  expect(answer.card).toBeNull()
  expect((await view(one)).card).toBeNull()
})

test('a balance below the threshold is topped up once, and its webhook changes nothing', async () => {
  const someone = await ready()
  expect(await run()).toMatchObject({ charged: 1, paused: 0, failures: 0 })
  expect(await balanceOf(someone)).toBe(25.5)
  expect(await run()).toMatchObject({ charged: 0 })
  const [payment] = await paymentsOf(someone)
  expect(payment).toMatchObject({ state: 'settled', rail: 'stripe', settledPico: 25_000_000_000_000n })
  const event = stripe.charged(payment!.id)
  for (const id of [event.id, event.id, 'evt_other'])
    expect((await stripe.deliver(stack.url, { ...event, id })).status).toBe(200)
  expect(await balanceOf(someone)).toBe(25.5)
  expect((await view(someone)).spent_this_month_usd).toBe('25.00')
  expect(await eventsOf(someone, 'topup.settled')).toHaveLength(1)
})

test('two processes at once charge once', async () => {
  const someone = await ready()
  const reports = await Promise.all([run(), run(), run()])
  expect(await balanceOf(someone)).toBe(25.5)
  const payments = await paymentsOf(someone)
  expect(payments).toHaveLength(1)
  expect(intentsOf(payments[0]!.id)).toHaveLength(1)
  expect(reports.every(({ failures }) => failures === 0)).toBe(true)
})

test('a charge whose answer is lost is asked for again and made once', async () => {
  const someone = await ready()
  stripe.loseAnswers(true)
  expect(await run()).toMatchObject({ charged: 1, failures: 1 })
  const [payment] = await paymentsOf(someone)
  expect(payment).toMatchObject({ state: 'created', chargeId: null })
  expect(intentsOf(payment!.id)).toHaveLength(1)
  stripe.loseAnswers(false)
  expect(await run()).toMatchObject({ charged: 0 })
  shiftMs = 2 * MINUTE_MS
  expect(await run()).toMatchObject({ charged: 1, failures: 0 })
  expect(await balanceOf(someone)).toBe(25.5)
  expect(intentsOf(payment!.id)).toHaveLength(1)
  expect(await paymentsOf(someone)).toHaveLength(1)
})

test('a charge without an answer or webhook is found by the reconciliation', async () => {
  const someone = await ready()
  stripe.loseAnswers(true)
  await run()
  stripe.loseAnswers(false)
  // Too late to ask for it again.
  shiftMs = 61 * MINUTE_MS
  expect(await run()).toMatchObject({ charged: 0 })
  await reconcile()
  expect(await balanceOf(someone)).toBe(25.5)
  const [payment] = await paymentsOf(someone)
  expect(payment).toMatchObject({ state: 'settled', chargeId: intentsOf(payment!.id)[0]!.id })
})

test('a webhook that overtakes the answer settles the charge', async () => {
  const someone = await ready()
  stripe.loseAnswers(true)
  await run()
  stripe.loseAnswers(false)
  const [payment] = await paymentsOf(someone)
  expect((await stripe.deliver(stack.url, stripe.charged(payment!.id))).status).toBe(200)
  expect(await balanceOf(someone)).toBe(25.5)
  shiftMs = 2 * MINUTE_MS
  expect(await run()).toMatchObject({ charged: 0 })
  expect(await balanceOf(someone)).toBe(25.5)
})

test('a process that died after recording the payment leaves it to the next', async () => {
  const someone = await ready()
  const { charge } = await payments.autoTopUps.takeStep(someone.accountId)
  expect(intentsOf(charge!.id)).toHaveLength(0)
  expect(await payments.autoTopUps.takeStep(someone.accountId)).toMatchObject({ charge: null })
  expect(await run()).toMatchObject({ charged: 1 })
  expect(await balanceOf(someone)).toBe(25.5)
})

test('while Stripe is away nothing piles up, and a charge that was never made is given up', async () => {
  const someone = await ready()
  stripe.breakDown(true)
  expect(await run()).toMatchObject({ failures: 1 })
  shiftMs = 2 * MINUTE_MS
  expect(await run()).toMatchObject({ failures: 1 })
  expect(await paymentsOf(someone)).toHaveLength(1)
  stripe.breakDown(false)
  shiftMs = 125 * MINUTE_MS
  await reconcile()
  const [payment] = await paymentsOf(someone)
  expect(payment).toMatchObject({ state: 'expired' })
  expect(intentsOf(payment!.id)).toHaveLength(0)
  expect(await run()).toMatchObject({ charged: 1 })
  expect(await balanceOf(someone)).toBe(25.5)
})

test('a declined card is tried three times, then top-ups pause until the holder resumes them', async () => {
  const someone = await ready()
  stripe.cards.answerCharges('declined')
  expect(await run()).toMatchObject({ charged: 1, paused: 0 })
  expect(await run()).toMatchObject({ charged: 0 })
  for (const minutes of [11, 75]) {
    shiftMs = minutes * MINUTE_MS
    expect(await run()).toMatchObject({ charged: 1 })
  }
  expect((await view(someone)).settings?.paused).toMatchObject({
    reason: 'payment_failed',
    detail: 'the card was declined (insufficient funds)',
  })
  shiftMs = 100_000 * MINUTE_MS
  expect(await run()).toMatchObject({ charged: 0 })
  expect(await eventsOf(someone, 'topup.failed')).toHaveLength(3)
  const told = await eventsOf(someone, 'topup.auto_paused')
  expect(told.map(({ data }) => data)).toEqual([
    { reason: 'payment_failed', amount_usd: '25.00', monthly_maximum_usd: '60.00', resumes_at: null },
  ])
  expect(await balanceOf(someone)).toBe(0.5)

  stripe.cards.answerCharges('succeeded')
  // The API has a clock of its own: what was tried is past for it, too.
  shiftMs = 0
  const age = (interval: string) => stack.postgres.$executeRaw`
    UPDATE payments SET created_at = created_at - ${interval}::interval WHERE account_id = ${someone.accountId}`
  await age('2 hours')
  for (const save of [choose, saveCard, choose]) {
    await save(someone)
    expect(await run()).toMatchObject({ charged: 0 })
  }
  const { settings } = await view(someone)
  expect(settings).toMatchObject({ paused: null, next_charge_after: expect.any(String) })
  await age('1 day')
  await choose(someone)
  expect(await run()).toMatchObject({ charged: 1 })
  expect(await balanceOf(someone)).toBe(25.5)
})

test('a bank that asks for the holder pauses at once, and another card resumes', async () => {
  const someone = await ready()
  stripe.cards.answerCharges('authentication_required')
  expect(await run()).toMatchObject({ charged: 1, paused: 1 })
  expect((await view(someone)).settings?.paused).toMatchObject({
    reason: 'authentication_required',
    detail: FAILURES_OF_THE_CARD.authentication_required,
  })
  stripe.cards.answerCharges('succeeded')
  expect(await run()).toMatchObject({ charged: 0 })
  await saveCard(someone)
  expect((await view(someone)).settings?.paused).toBeNull()
  expect(await run()).toMatchObject({ charged: 0 })
  shiftMs = 6 * MINUTE_MS
  expect(await run()).toMatchObject({ charged: 1 })
  expect(await balanceOf(someone)).toBe(25.5)
})

test('a card that is gone at Stripe pauses at once', async () => {
  const someone = await ready()
  const { methodId } = await stack.postgres.savedCard.findUniqueOrThrow({
    where: { accountId: someone.accountId },
  })
  stripe.cards.methods.delete(methodId)
  expect(await run()).toMatchObject({ charged: 1, paused: 1 })
  const [payment] = await paymentsOf(someone)
  expect(payment).toMatchObject({ state: 'failed', failureReason: FAILURES_OF_THE_CARD.missing_card })
})

test('automatic top-ups stop at the maximum of a month, with one notification', async () => {
  const someone = await ready({ threshold_usd: '100.00' })
  for (let charges = 0; charges < 2; charges++) {
    expect(await run()).toMatchObject({ charged: 1 })
    expect(await run()).toMatchObject({ charged: 0 })
    shiftMs += 6 * MINUTE_MS
  }
  for (let looks = 0; looks < 3; looks++) expect(await run()).toMatchObject({ charged: 0 })
  expect(await balanceOf(someone)).toBe(50.5)
  expect((await view(someone)).settings).toMatchObject({ monthly_maximum_reached: true, paused: null })
  const told = await eventsOf(someone, 'topup.auto_paused')
  expect(told.map(({ data }) => data)).toMatchObject([{ reason: 'monthly_maximum' }])
  shiftMs = 32 * 24 * 60 * MINUTE_MS
  expect(await run()).toMatchObject({ charged: 1 })
  await choose(someone, { enabled: false })
})

test('a balance that open calls hold is topped up once a call was refused for it', async () => {
  const someone = await ready({ threshold_usd: '0.10' })
  const { accountId } = someone
  const created = await someone.client.json<CreatedKey>('/console/api/keys', { body: { name: 'busy' } })
  const { balancePico, version } = await stack.postgres.account.findUniqueOrThrow({
    where: { id: accountId },
  })
  const holds = createHoldStore(stack.redis)
  await holds.load(accountId, { balancePico, version })
  const held = newCallId(Date.now())
  expect(await openHold(stack.redis, accountId, held, balancePico)).toMatchObject({ kind: 'admitted' })
  expect(await run()).toMatchObject({ charged: 0 })

  const body = JSON.stringify({ model: 'test/plain', messages: MESSAGES, max_tokens: 100 })
  const headers = { authorization: `Bearer ${created.secret}`, 'content-type': 'application/json' }
  const refused = await fetch(stack.url + CHAT_PATH, { method: 'POST', headers, body })
  expect(refused.status).toBe(402)
  await eventually(async () => expect(await run()).toMatchObject({ charged: 1 }))
  expect(await balanceOf(someone)).toBe(25.5)
  await holds.release(accountId, held)
})

test('a charge that takes its time blocks the next, and settles when it is done', async () => {
  const someone = await ready()
  stripe.cards.answerCharges('processing')
  await run()
  const [payment] = await paymentsOf(someone)
  expect(payment).toMatchObject({ state: 'pending' })
  expect(await run()).toMatchObject({ charged: 0 })
  const [intent] = intentsOf(payment!.id)
  Object.assign(intent!, { status: 'succeeded', amount_received: intent!.amount })
  shiftMs = 20 * MINUTE_MS
  await reconcile()
  expect(await balanceOf(someone)).toBe(25.5)
})

test('nothing is charged for a suspended account, nor with top-ups switched off', async () => {
  const [suspended, off] = [await ready(), await ready({ enabled: false })]
  // Recorded before, and not asked for yet.
  await payments.autoTopUps.takeStep(suspended.accountId)
  await stack.postgres.account.update({ where: { id: suspended.accountId }, data: { state: 'suspended' } })
  expect(await run()).toMatchObject({ charged: 0 })
  expect(await paymentsOf(off)).toHaveLength(0)
})

test('a deleted account is forgotten at Stripe', async () => {
  const someone = await ready({ enabled: false })
  const { customerId } = await stack.postgres.railCustomer.findFirstOrThrow({
    where: { accountId: someone.accountId },
  })
  const exported = await someone.client.json<Record<string, unknown>>('/console/api/account/export')
  expect(exported.saved_card).toMatchObject({ brand: 'visa', last4: '4242' })
  expect(exported.auto_top_up).toMatchObject({ enabled: false, amount_usd: '25.00' })
  const body = { current_password: PASSWORD, forfeit_usd: '0.50' }
  const answer = await someone.client.ask('/console/api/account/delete', { body })
  expect(answer.status, await answer.text()).toBe(204)
  expect(stripe.cards.customers.has(customerId)).toBe(false)
  const where = { accountId: someone.accountId }
  expect(await stack.postgres.savedCard.count({ where })).toBe(0)
  expect(await stack.postgres.autoTopUp.count({ where })).toBe(0)
  expect(await stack.postgres.railCustomer.count({ where })).toBe(0)
})

test('amounts that make no sense are refused by name', async () => {
  const someone = await ready()
  for (const [param, value] of [
    ['threshold_usd', '0'],
    ['threshold_usd', '1.001'],
    // More than four amounts.
    ['threshold_usd', '100.01'],
    ['amount_usd', '4.99'],
    ['monthly_maximum_usd', '24.99'],
  ] as const) {
    const body = { ...CHOSEN, [param]: value }
    const answer = await someone.client.ask('/console/api/auto-top-up', { method: 'PATCH', body })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { param } })
  }
  await choose(someone, { enabled: false })
})

test('settings that turn top-ups on are saved so many times an hour, and turning them off always works', async () => {
  const someone = await ready({ enabled: false })
  const save = (enabled: boolean) =>
    someone.client.ask('/console/api/auto-top-up', { method: 'PATCH', body: { ...CHOSEN, enabled } })
  const statuses = []
  for (let saves = 0; saves < 21; saves++) statuses.push((await save(true)).status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(20)
  expect(statuses.at(-1)).toBe(429)
  expect((await save(false)).status).toBe(200)
})

test('the ledger is in order after all of it', async () => {
  await expectLedgerInOrder(stack)
})
