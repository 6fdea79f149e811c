import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { ask } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { testStack } from '../helpers/resources.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../helpers/webhook-receiver.ts'

let receiver: WebhookReceiver

const stack = testStack({
  models: { 'test/short': [{ at: 'alpha', model: 'words-20' }] },
  environment: { WEBHOOKS_ALLOW_PRIVATE: 'true' },
  processes: ['settlement'],
  apis: 2,
})
beforeEach(async () => {
  receiver = await startWebhookReceiver()
})
afterEach(() => receiver.close())

const admin = async (...args: string[]) => {
  const { code, json } = await stack.command('admin', ...args)
  expect({ code, json }).toMatchObject({ code: 0 })
  return json
}
const call = (key: string, index = 0) =>
  ask({ url: stack.urls[index % 2]!, key }, { model: 'test/short', max_tokens: 20 })
const subscribe = async (accountId: string): Promise<string> =>
  (await admin('webhook', 'create', '--account', accountId, '--url', receiver.url)).secret as string
const received = () => receiver.received.map(({ body }) => JSON.parse(body))
/** Everything recorded so far has been delivered. */
const quiet = () =>
  eventually(async () => {
    expect(await stack.postgres.event.count({ where: { fannedOutAt: null } })).toBe(0)
    expect(await stack.postgres.webhookDelivery.count({ where: { state: 'pending' } })).toBe(0)
  })

test('concurrent calls that cross the balance threshold create one event', async () => {
  const { accountId, key } = await stack.account('1.00')
  const secret = await subscribe(accountId)
  await admin('account', 'alert', accountId, '--below', '0.9995')
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => call(key, index)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  await stack.settled(accountId)
  const [webhook] = await receiver.count(1)
  await quiet()
  expect(receiver.received).toHaveLength(1)
  const event = new Webhook(secret).verify(webhook!.body, webhook!.headers as Record<string, string>)
  expect(event).toMatchObject({
    type: 'balance.low',
    data: { account_id: accountId, threshold_usd: '0.9995' },
  })
  const { balance_usd } = (event as { data: { balance_usd: string } }).data
  expect(parseUsd(balance_usd)).toBeLessThanOrEqual(parseUsd('0.9995'))
})

test('calls refused by a spending limit create one event over all instances', async () => {
  const { accountId, keyId, key } = await stack.account('1.00', {
    limitPico: parseUsd('0.00000001'),
    limitReset: 'daily',
  })
  await subscribe(accountId)
  for (let index = 0; index < 10; index += 1) {
    expect(await call(key, index)).toMatchObject({ status: 402, errorCode: 'key_limit_exceeded' })
  }
  await receiver.count(1)
  await quiet()
  expect(received()).toMatchObject([
    {
      type: 'key.limit_reached',
      data: { account_id: accountId, key_id: keyId, limit_usd: '0.00000001', limit_reset: 'daily' },
    },
  ])
})

test('a revoked key creates an event', async () => {
  const { accountId, keyId } = await stack.account('1.00')
  await subscribe(accountId)
  await admin('key', 'revoke', keyId)
  await admin('key', 'revoke', keyId)
  await receiver.count(1)
  await quiet()
  expect(received()).toMatchObject([{ type: 'key.revoked', data: { account_id: accountId, key_id: keyId } }])
})

test('a webhook whose sender is killed before the answer comes again under the same id', async () => {
  const { accountId, keyId } = await stack.account('1.00')
  const secret = await subscribe(accountId)
  const first = Promise.withResolvers<void>()
  receiver.answer = (response, index) => {
    // The first is taken in, but its sender dies before it hears so.
    if (index === 0) first.resolve()
    else response.writeHead(204).end()
  }
  await admin('key', 'revoke', keyId)
  await first.promise
  await stack.settlement.kill()
  await stack.startSettlement()
  const webhooks = await receiver.count(2)
  expect(new Set(webhooks.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  for (const { body, headers } of webhooks) {
    new Webhook(secret).verify(body, headers as Record<string, string>)
  }
  await quiet()
  expect(receiver.received).toHaveLength(2)
})
