import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { ask } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { testAccount, testStack, testWebhookReceiver } from '../helpers/resources.ts'

const receiver = testWebhookReceiver()
const stack = testStack({
  models: { 'test/short': [{ at: 'alpha', model: 'words-20' }] },
  // What a killed sender had claimed is claimed again after this.
  environment: { WEBHOOKS_ALLOW_PRIVATE: 'true', JOB_LOCK_MS: '2000' },
  processes: ['settlement'],
})
const caller = testAccount(stack, '1.00')

const admin = async (...args: string[]) => {
  const { code, json } = await stack.command('admin', ...args)
  expect({ code, json }).toMatchObject({ code: 0 })
  return json
}

test('calls that cross the balance threshold send one webhook, again under the same id when its sender is killed before the answer', async () => {
  const { accountId } = caller
  const created = await admin('webhook', 'create', '--account', accountId, '--url', receiver.url)
  await admin('account', 'alert', accountId, '--below', '0.9995')
  const first = Promise.withResolvers<void>()
  receiver.answer = (response, index) => {
    // The first is taken in, but its sender dies before it hears so.
    if (index === 0) first.resolve()
    else response.writeHead(204).end()
  }
  const asked = Array.from({ length: 20 }, () => ask(caller, { model: 'test/short', max_tokens: 20 }))
  for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  await first.promise
  await stack.settlement.kill()
  await stack.startSettlement()
  await receiver.count(2)
  await stack.settled(accountId)
  // Everything recorded so far has been delivered.
  await eventually(async () => {
    expect(await stack.postgres.event.count({ where: { fannedOutAt: null } })).toBe(0)
    expect(await stack.postgres.webhookDelivery.count({ where: { state: 'pending' } })).toBe(0)
  })
  expect(receiver.received).toHaveLength(2)
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  for (const { body, headers } of receiver.received)
    expect(
      new Webhook(created.secret as string).verify(body, headers as Record<string, string>),
    ).toMatchObject({ type: 'balance.low', data: { account_id: accountId, threshold_usd: '0.9995' } })
})
