import { describe, expect, test } from 'vitest'
import { makeWeeklySpendMails, reportedWeek } from '../../../src/accounts/self-service/weekly-spend-mails.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { allowancePeriod } from '../../../src/core/billing/allowance-period.ts'
import type { SettlementRecord } from '../../../src/core/calls/call-job.ts'
import { formatUsd } from '../../../src/core/kernel/money.ts'
import { DAY_MS, HOUR_MS } from '../../../src/core/kernel/time.ts'
import { type EventData, type EventType, eventIdOf } from '../../../src/core/webhooks/event.ts'
import { recordEvent } from '../../../src/webhooks/event-outbox.ts'
import { failedSettlementOf, settlementOf } from '../../helpers/billing.ts'
import { type ConsoleClient, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { organisationOf } from '../../helpers/organisation.ts'
import { testMailCatcher, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const SITE = 'https://gateway.example'

const catcher = testMailCatcher()
const stack = testStack(() => ({
  environment: {
    ...catcher.environment,
    PUBLIC_URL: SITE,
  },
}))

async function verifiedAccount() {
  const client = await signedUp(stack.url)
  const [token = ''] = await catcher.tokens(client.email)
  await client.json('/console/api/verify', { body: { token } })
  const { person } = await client.json<SessionView>('/console/api/session')
  expect(person.email_verified).toBe(true)
  return { client, accountId: person.id }
}

const record = (accountId: string, type: EventType, data: EventData) =>
  stack.postgres.$transaction((transaction) => recordEvent(transaction, { type, accountId, data }))

const LIMIT_REACHED = {
  key_id: 'key_1',
  name: 'app',
  limit_usd: '2.00',
  limit_reset: 'none',
  resets_at: null,
}

/** What a new account gets. */
const CHOSEN = { low_balance: true, key_limit: true, provider_key: true, weekly_spend: false }

/** What was sent to an address, the message that verifies it aside. */
const messagesTo = (email: string) =>
  catcher.received
    .filter(({ to, content }) => to.includes(email) && !content.includes('/verify#'))
    .map(({ content }) => content)

/** Every event so far is fanned out, and no message waits. */
const quiet = () =>
  eventually(async () => {
    expect(await stack.postgres.event.count({ where: { fannedOutAt: null } })).toBe(0)
    expect(await stack.postgres.eventMail.count({ where: { finishedAt: null } })).toBe(0)
  })

test('events are mailed once to the verified address of their account', async () => {
  const { client, accountId } = await verifiedAccount()
  await stack.command('admin', 'account', 'adjust', accountId, '--amount', '-0.30', '--reason', 'test')
  await record(accountId, 'balance.low', { balance_usd: '0.20', threshold_usd: '0.25' })
  await record(accountId, 'topup.settled', { payment_id: 'pay_1', amount_usd: '7.00', test: true })
  await record(accountId, 'key.limit_reached', LIMIT_REACHED)
  const failing = { provider: 'openai', name: 'mine', last4: 'wxyz', error: 'invalid key' }
  await record(accountId, 'provider_key.failing', failing)
  // Events that are for programs alone.
  await record(accountId, 'key.revoked', { key_id: 'key_1', name: 'app', hint: '…', revoked_at: '' })
  await quiet()
  const subjects = messagesTo(client.email).map((content) => /^Subject: (.*)\r$/m.exec(content)?.[1])
  expect(subjects.sort()).toEqual([
    'An API key reached its spending limit',
    'Receipt for your top-up',
    'Your API key for openai is failing',
    'Your balance is low',
  ])
  expect(messagesTo(client.email).join()).toContain(`${SITE}/billing/receipts/pay_1`)
})

test('kinds that are turned off are not sent; receipts always are', async () => {
  const { client, accountId } = await verifiedAccount()
  const { person } = await client.json<SessionView>('/console/api/account', {
    method: 'PATCH',
    body: { mails: { low_balance: false, key_limit: false } },
  })
  expect(person.mails).toEqual({ ...CHOSEN, low_balance: false, key_limit: false })
  const again = await client.json<SessionView>('/console/api/account', {
    method: 'PATCH',
    body: { mails: { key_limit: true } },
  })
  expect(again.person.mails).toEqual({ ...CHOSEN, low_balance: false })
  await record(accountId, 'balance.low', { balance_usd: '0.20', threshold_usd: '0.25' })
  await record(accountId, 'balance.exhausted', { balance_usd: '0.00' })
  await record(accountId, 'key.limit_reached', LIMIT_REACHED)
  await record(accountId, 'topup.settled', { payment_id: 'pay_2', amount_usd: '7.00', test: false })
  await quiet()
  expect(messagesTo(client.email)).toHaveLength(2)
  const refused = await client.ask('/console/api/account', {
    method: 'PATCH',
    body: { mails: { all: true } },
  })
  await expectError(refused, 400, 'invalid_request')
})

test('an unverified address gets no message but the link', async () => {
  const client = await signedUp(stack.url)
  const { person } = await client.json<SessionView>('/console/api/session')
  expect(person.email_verified).toBe(false)
  await record(person.id, 'balance.low', { balance_usd: '0.20', threshold_usd: '0.25' })
  await quiet()
  expect(messagesTo(client.email)).toEqual([])
})

test('a message is tried again while the mail server is busy', async () => {
  const { client, accountId } = await verifiedAccount()
  let refusals = 0
  catcher.answer = (recipient) => (recipient === client.email && refusals++ < 1 ? 451 : null)
  await record(accountId, 'key.limit_reached', LIMIT_REACHED)
  await quiet()
  expect(refusals).toBe(2)
  expect(messagesTo(client.email)).toHaveLength(1)
})

test('a message whose job was lost is queued again when its lease ends, and given up after a day', async () => {
  const { client, accountId } = await verifiedAccount()
  const lost = async (id: string, createdAt: Date) => {
    const at = { createdAt, fannedOutAt: createdAt }
    await stack.postgres.event.create({
      data: { id, type: 'key.limit_reached', accountId, data: { ...LIMIT_REACHED, key_id: id }, ...at },
    })
    await stack.postgres.eventMail.create({
      data: { eventId: id, accountId, createdAt, queuedUntil: new Date(0) },
    })
  }
  await lost('evt_late', new Date(Date.now() - 3_600_000))
  await lost('evt_too_late', new Date(Date.now() - 25 * 3_600_000))
  await quiet()
  expect(messagesTo(client.email).map((content) => /\((evt_\w+)\)/.exec(content)?.[1])).toEqual(['evt_late'])
})

test('events of an organisation reach its owners and billing members, each with their own preferences', async () => {
  const { accountId, members } = await organisationOf(stack, ['owner', 'admin', 'developer', 'billing'])
  const people = Object.values(members)
  await stack.postgres.account.updateMany({
    where: { id: { in: people.map(({ personId }) => personId) } },
    data: { emailVerifiedAt: new Date() },
  })
  await record(accountId, 'topup.settled', { payment_id: 'pay_x', amount_usd: '5.00', test: true })
  await quiet()
  const heard = () =>
    people.map(({ email }) => messagesTo(email).filter((text) => /about the organisation/.test(text)).length)
  await eventually(() => expect(heard()).toEqual([1, 0, 0, 1]))
  await members.billing.json('/console/api/account', {
    method: 'PATCH',
    body: { mails: { low_balance: false } },
  })
  await record(accountId, 'balance.low', { balance_usd: '0.20', threshold_usd: '0.25' })
  await quiet()
  await eventually(() => expect(heard()).toEqual([2, 0, 0, 1]))
})

test.each([
  ['2026-11-23T05:59:59Z', null],
  ['2026-11-23T06:00:00Z', '2026-11-16T00:00:00.000Z'],
  ['2026-11-25T23:59:59Z', '2026-11-16T00:00:00.000Z'],
  ['2026-11-26T00:00:00Z', null],
])('at %s the week reported on begins at %s', (now, startsAt) => {
  const week = reportedWeek(Date.parse(now))
  expect(week && new Date(week.startsAt).toISOString()).toBe(startsAt)
})

describe('the message about the spend of a week', () => {
  /** As on the Monday after the current week. */
  const monday = allowancePeriod('weekly', Date.now()).endsAt! + 7 * HOUR_MS
  const make = (clock = () => monday) => makeWeeklySpendMails({ postgres: stack.postgres, clock })
  const turn = (client: ConsoleClient, isOn: boolean) =>
    client.json<SessionView>('/console/api/account', {
      method: 'PATCH',
      body: { mails: { weekly_spend: isOn } },
    })
  const settle = (...calls: SettlementRecord[]) => createSettlementStore(stack.postgres).settle(calls)
  const costing = (accountId: string, chargePico: string, changes: Partial<SettlementRecord> = {}) =>
    settlementOf(accountId, { admittedAt: Date.now(), chargePico, holdPico: chargePico, ...changes })

  test('is sent once to who asked for it, however many processes make it, with the figures', async () => {
    const { client, accountId } = await verifiedAccount()
    const [silent, idle] = [await verifiedAccount(), await verifiedAccount()]
    expect((await turn(client, true)).person.mails).toEqual({ ...CHOSEN, weekly_spend: true })
    await turn(idle.client, true)
    const large = { requestedModel: 'acme/large', keyId: 'key_a' }
    await settle(
      costing(accountId, '30000000000', large),
      costing(accountId, '30000000000', large),
      costing(accountId, '15000000000', { requestedModel: 'acme/small', keyId: 'key_b' }),
      failedSettlementOf(accountId, { admittedAt: Date.now() }),
      costing(silent.accountId, '30000000000'),
    )
    await settle(costing(accountId, '15000000000', { admittedAt: monday - 8 * DAY_MS - 7 * HOUR_MS }))
    const made = await Promise.all([make(), make(), make()])
    expect(made.map(({ messages }) => messages).reduce((sum, one) => sum + one)).toBe(1)
    expect(await make(() => monday + DAY_MS)).toEqual({ messages: 0 })
    await quiet()
    const [message, ...more] = messagesTo(client.email)
    expect([...more, ...messagesTo(silent.client.email), ...messagesTo(idle.client.email)]).toEqual([])
    const { balancePico } = await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })
    for (const line of [
      'Spent:            $0.075, $0.06 more than in the week before',
      'The week before:  $0.015',
      'Requests:         4, 1 failed',
      `Balance left:     $${formatUsd(balancePico)}`,
      'Models with the highest cost:  acme/large $0.06, acme/small $0.015',
      'Keys with the highest cost:    key_a $0.06, key_b $0.015',
    ])
      expect(message).toContain(line)
    expect(message).toContain(`${SITE}/settings#notifications`)
    const sent = await stack.postgres.sentMail.findMany({ where: { accountId, kind: 'weekly-spend' } })
    expect(sent).toMatchObject([{ recipient: client.email, outcome: 'sent' }])
    expect(await stack.postgres.webhookDelivery.count({ where: { event: { type: 'spend.weekly' } } })).toBe(0)
  })

  test('is about an organisation for those of its owners and billing members who ask, until they no longer do', async () => {
    const { accountId, members } = await organisationOf(stack, ['owner', 'admin', 'billing'])
    const people = Object.values(members)
    await stack.postgres.account.updateMany({
      where: { id: { in: people.map(({ personId }) => personId) } },
      data: { emailVerifiedAt: new Date() },
    })
    await settle(failedSettlementOf(accountId, { admittedAt: Date.now() }))
    for (const one of [members.admin, members.billing]) await turn(one, true)
    expect(await make()).toEqual({ messages: 1 })
    await turn(members.owner, true)
    expect(await make()).toEqual({ messages: 1 })
    await quiet()
    const heard = () =>
      people.map(({ email }) => messagesTo(email).filter((text) => /Spent:/.test(text)).length)
    expect(heard()).toEqual([1, 0, 1])
    expect(messagesTo(members.owner.email).join()).toContain('This is about the organisation Works')
    await turn(members.owner, false)
    expect(await make(() => monday + 7 * DAY_MS)).toEqual({ messages: 0 })
  })

  test('is not sent to who turned it off before it went out', async () => {
    const { client, accountId } = await verifiedAccount()
    await turn(client, true)
    await settle(settlementOf(accountId, { admittedAt: Date.now() }))
    const id = eventIdOf('spend.weekly', `${accountId}:${monday - 7 * DAY_MS - 7 * HOUR_MS}`)
    await turn(client, false)
    const data = { type: 'spend.weekly', accountId, data: {}, fannedOutAt: new Date() }
    await stack.postgres.event.create({ data: { id, ...data, mails: { create: { accountId } } } })
    await quiet()
    expect(messagesTo(client.email)).toEqual([])
  })
})
