import { pino } from 'pino'
import { Registry } from 'prom-client'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admin as adminCommand } from '../../src/cli/admin.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { readConfig } from '../../src/config.ts'
import { type Connections, openConnections } from '../../src/platform/connections.ts'
import { openEventsClients, startEvents } from '../../workers/events/events-part.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { testLedger, testRedis, testWebhookReceiver } from '../helpers/resources.ts'

describe("the operator's webhook commands", () => {
  let events: { stop(): Promise<void> }
  let connections: Connections
  let environment: Record<string, string>
  let accountId: string

  const ledger = testLedger()
  const server = testRedis()
  const receiver = testWebhookReceiver()
  beforeAll(async () => {
    accountId = await openTestAccount(ledger.postgres, 1_000n)
    environment = {
      DATABASE_URL: ledger.url,
      REDIS_URL: server.url,
      MASTER_KEY: '11'.repeat(32),
      WEBHOOKS_ALLOW_PRIVATE: 'true',
    }
    const config = readConfig(environment)
    connections = openConnections(config)
    events = startEvents(config, openEventsClients(connections), pino({ level: 'silent' }), new Registry())
  })
  afterAll(async () => {
    await events.stop()
    await connections.close()
  })

  const admin = async (
    args: string[],
    more: Record<string, string> = {},
    // biome-ignore lint/suspicious/noExplicitAny: whatever a command prints
  ): Promise<{ code: number; json: any }> => {
    const { code, out } = await runCommand(adminCommand, [...args, '--json'], { ...environment, ...more })
    return { code, json: JSON.parse(out) }
  }
  const create = async (...args: string[]) => {
    const { code, json } = await admin([
      ...(['webhook', 'create', '--account', accountId] as const),
      ...['--url', receiver.url, ...args],
    ])
    expect(code).toBe(0)
    return json
  }

  test('an endpoint shows its secret once, gets a test event, and its delivery is in the log', async () => {
    const created = await create('--events', 'key.revoked, balance.low')
    expect(created).toMatchObject({
      webhook_id: expect.stringMatching(/^hook_/),
      secret: expect.stringMatching(/^whsec_/),
      events: 'key.revoked,balance.low',
      enabled: true,
    })
    const listed = await admin(['webhook', 'list', '--account', accountId])
    expect(JSON.stringify(listed.json)).not.toContain(created.secret)
    expect(listed.json.webhooks).toEqual([expect.objectContaining({ webhook_id: created.webhook_id })])

    const tested = await admin(['webhook', 'test', created.webhook_id])
    expect(tested).toMatchObject({ code: 0, json: { type: 'webhook.test', state: 'delivered' } })
    const recorded = await ledger.postgres.operatorAction.findMany({ where: { action: 'webhook.test' } })
    expect(recorded).toMatchObject([{ target: created.webhook_id, outcome: 'asked' }])
    const [webhook] = await receiver.count(1)
    new Webhook(created.secret).verify(webhook!.body, webhook!.headers as Record<string, string>)
    const { json } = await admin(['webhook', 'deliveries', '--account', accountId])
    expect(json.deliveries).toEqual([
      expect.objectContaining({
        delivery_id: tested.json.delivery_id,
        attempts: [expect.objectContaining({ status_code: 204, error: null })],
      }),
    ])

    const rotated = await admin(['webhook', 'rotate-secret', created.webhook_id])
    expect(rotated.json.secret).toMatch(/^whsec_/)
    expect(rotated.json.secret).not.toBe(created.secret)
    expect(await admin(['webhook', 'delete', created.webhook_id])).toMatchObject({ code: 0 })
    expect(await admin(['webhook', 'delete', created.webhook_id])).toMatchObject({ code: 1 })
  })

  test('a test event that the endpoint does not take fails the command', async () => {
    receiver.answer = (response) => response.writeHead(500).end()
    const { webhook_id } = await create()
    expect(await admin(['webhook', 'test', webhook_id])).toMatchObject({
      code: 1,
      json: { state: 'pending', attempts: [{ error: 'HTTP 500' }] },
    })
    await admin(['webhook', 'delete', webhook_id])
  })

  test('the balance that counts as low is set per account', async () => {
    const alert = (below: string) => admin(['account', 'alert', accountId, '--below', below])
    expect((await alert('2.50')).json).toMatchObject({ low_balance_usd: '2.50' })
    expect((await alert('never')).json).toMatchObject({ low_balance_usd: null })
    const opened = await admin(['account', 'create', '--email', 'low@x.test'], { LOW_BALANCE_USD: '0.25' })
    expect(opened.json).toMatchObject({ low_balance_usd: '0.25' })
  })

  test.each<[string[], number]>([
    [['webhook', 'create', '--account', 'nobody@x.test', '--url', 'https://example.com/'], 1],
    [['webhook', 'create', '--url', 'https://example.com/'], 2],
    [['webhook', 'create', '--account', 'low@x.test', '--url', 'ftp://example.com/'], 2],
    [['webhook', 'create', '--account', 'low@x.test', '--url', 'https://a.test/', '--events', 'all'], 2],
    [['webhook', 'test', 'hook_nothing'], 1],
    [['webhook', 'rotate-secret', 'hook_nothing'], 1],
    [['webhook', 'test'], 2],
    [['account', 'alert', 'low@x.test', '--below', 'much'], 2],
  ])('%j fails with exit code %i', async (args, code) => {
    expect(await admin(args)).toEqual({ code, json: { error: expect.stringMatching(/./) } })
  })

  test('addresses that are not public are refused unless they are allowed', async () => {
    for (const url of [receiver.url, 'https://127.0.0.1/', 'https://[::1]/', 'http://example.com/']) {
      const args = ['webhook', 'create', '--account', accountId, '--url', url]
      expect(await admin(args, { WEBHOOKS_ALLOW_PRIVATE: 'false' })).toMatchObject({ code: 2 })
    }
  })
})
