import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pino from 'pino'
import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { newId } from '../../src/core/kernel/ids.ts'
import {
  createAlarmDestinationStore,
  type DestinationTarget,
} from '../../src/operators/alarm-destination-store.ts'
import { createAlarmNoticeStore } from '../../src/operators/alarm-notice-store.ts'
import { createMailer } from '../../src/platform/network/mailer.ts'
import { createPostgres, type Postgres } from '../../src/platform/postgres/postgres.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import { type AlarmSenderOptions, startAlarmSender } from '../../workers/alarm-sender.ts'
import { createPostWebhook } from '../../workers/events/deliver-event.ts'
import { eventually } from '../helpers/eventually.ts'
import { type MailCatcher, startMailCatcher } from '../helpers/mail-catcher.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/services.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../helpers/webhook-receiver.ts'

const sealer = createSealer([Buffer.alloc(32, 7)], 'alarm-destination')
const sender = { source: 'gateway.example', publicUrl: 'https://gateway.example/sy' }
const ROUTING_KEY = 'R0123456789ABCDEFGHIJKLMNOPQRSTU'

let database: TestDatabase
let postgres: Postgres
let receiver: WebhookReceiver
let mail: MailCatcher
const stops: Array<() => Promise<void>> = []

beforeAll(async () => {
  ;[database, mail] = await Promise.all([createTestDatabase(), startMailCatcher()])
  postgres = createPostgres({ databaseUrl: database.url, name: 'test', poolSize: 6 })
})
beforeEach(async () => {
  receiver = await startWebhookReceiver()
})
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
  await receiver.close()
  await postgres.alarm.deleteMany()
  await postgres.alarmDestination.deleteMany()
})
afterAll(async () => {
  await mail.close()
  await postgres.$disconnect()
  await database.drop()
})

function start(changes: Partial<AlarmSenderOptions> = {}) {
  const stop = startAlarmSender({
    notices: createAlarmNoticeStore(postgres),
    sealer,
    post: createPostWebhook({ allowPrivate: true, timeoutMs: 10_000 }),
    mailer: createMailer({
      transport: { kind: 'smtp', url: mail.environment.SMTP_URL },
      from: 'Shuntyard <sy@example.com>',
      publicUrl: 'https://gateway.example',
    }),
    sender,
    logger: pino({ level: 'silent' }),
    random: () => 0.5,
    everyMs: 50,
    perMinute: 1_000,
    ...changes,
  })
  stops.push(stop)
  return stop
}

const store = () => createAlarmDestinationStore(postgres, sealer)
const destination = async (target: DestinationTarget) =>
  (await store().create({ name: 'team', target, targetHint: '', minimumSeverity: 'info' })).id
const slack = (url = receiver.url) => destination({ kind: 'slack', url })

async function tell(
  destinationId: string,
  event: string,
  alarm: { id?: string; subject?: string; kind?: string } = {},
) {
  const { id = newId('alarm'), subject = 'alpha/openai/gpt-5', kind = 'breaker-opened' } = alarm
  const at = new Date('2027-01-01T00:00:00Z')
  const data = {
    ...{ id, kind, subject, message: 'a breaker opened', count: 3, firstAt: at, lastAt: at },
    fields: { failures: 12, attempts: 20, reason: '<b>&' },
  }
  await postgres.alarm.upsert({ where: { id }, create: data, update: {} })
  await postgres.alarmNotice.create({ data: { destinationId, alarmId: id, event } })
  return id
}

const bodies = () => receiver.received.map(({ body }) => JSON.parse(body))

// What Slack takes: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks; limits of blocks:
// https://docs.slack.dev/reference/block-kit/blocks/section-block
const Mrkdwn = Type.Object(
  { type: Type.Literal('mrkdwn'), text: Type.String({ minLength: 1, maxLength: 3_000 }) },
  { additionalProperties: false },
)
const SlackBody = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: 40_000 }),
    blocks: Type.Array(
      Type.Union([
        Type.Object({ type: Type.Literal('section'), text: Mrkdwn }, { additionalProperties: false }),
        Type.Object(
          { type: Type.Literal('context'), elements: Type.Array(Mrkdwn, { maxItems: 10 }) },
          { additionalProperties: false },
        ),
      ]),
      { maxItems: 50 },
    ),
  },
  { additionalProperties: false },
)

// The fields of PagerDuty's Events API v2: https://developer.pagerduty.com/docs/send-alert-event
const PagerDutyBody = Type.Union([
  Type.Object(
    {
      routing_key: Type.String({ minLength: 32, maxLength: 32 }),
      dedup_key: Type.String({ minLength: 1, maxLength: 255 }),
      event_action: Type.Literal('trigger'),
      payload: Type.Object(
        {
          summary: Type.String({ minLength: 1, maxLength: 1_024 }),
          source: Type.String({ minLength: 1 }),
          severity: Type.Enum(['critical', 'error', 'warning', 'info']),
          component: Type.Optional(Type.String()),
          class: Type.Optional(Type.String()),
          custom_details: Type.Optional(Type.Object({})),
        },
        { additionalProperties: false },
      ),
      client: Type.Optional(Type.String()),
      client_url: Type.Optional(Type.String()),
      links: Type.Array(
        Type.Object({ href: Type.String(), text: Type.String() }, { additionalProperties: false }),
      ),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      routing_key: Type.String({ minLength: 32, maxLength: 32 }),
      dedup_key: Type.String({ minLength: 1, maxLength: 255 }),
      event_action: Type.Enum(['acknowledge', 'resolve']),
    },
    { additionalProperties: false },
  ),
])
const errorsOf = (schema: TSchema, value: unknown) => [...Value.Errors(schema, value)]

test('a Slack-compatible webhook gets text and blocks as Slack takes them, with links and no markup of ours', async () => {
  const id = await slack()
  start()
  const alarmId = await tell(id, 'opened', { subject: 'alpha/<!channel>&x' })
  await receiver.count(1)
  await tell(id, 'resolved', { id: alarmId })
  await receiver.count(2)
  const [opened, resolved] = bodies()
  for (const body of [opened, resolved]) expect(errorsOf(SlackBody, body)).toEqual([])
  expect(opened.text).toBe(
    ':large_orange_circle: Circuit breaker of &lt;!channel&gt;&amp;x at provider alpha opened: 12 of 20 attempts failed.' +
      ' (3 times since 2027-01-01T00:00:00.000Z)' +
      ' · <https://gateway.example/sy/admin/providers/alpha|Open in console>' +
      ' · <https://gateway.example/sy/admin/alarms?tab=runbook#breaker-opened|Runbook>',
  )
  expect(resolved.text).toMatch(/^:white_check_mark: Resolved: Circuit breaker/)
  await eventually(async () =>
    expect(await store().find(id)).toMatchObject({ waiting: 0, error: null, deliveredAt: expect.any(Date) }),
  )
})

test('PagerDuty gets one incident a kind and subject: triggered, acknowledged and resolved', async () => {
  receiver.answer = (response) =>
    response
      .writeHead(202, { 'content-type': 'application/json' })
      .end('{"status":"success","message":"Event processed","dedup_key":"k"}')
  const id = await destination({ kind: 'pagerduty', url: receiver.url, routingKey: ROUTING_KEY })
  const alarmId = await tell(id, 'opened')
  await tell(id, 'acknowledged', { id: alarmId })
  await tell(id, 'resolved', { id: alarmId })
  start()
  await receiver.count(3)
  for (const body of bodies()) expect(errorsOf(PagerDutyBody, body)).toEqual([])
  expect(bodies().map(({ event_action: action }) => action)).toEqual(['trigger', 'acknowledge', 'resolve'])
  expect(new Set(bodies().map(({ dedup_key: key }) => key))).toEqual(
    new Set(['gateway.example/breaker-opened/alpha/openai/gpt-5']),
  )
  expect(bodies()[0].payload).toMatchObject({
    severity: 'warning',
    source: 'gateway.example',
    summary: 'Circuit breaker of openai/gpt-5 at provider alpha opened: 12 of 20 attempts failed.',
  })
})

test('mail arrives with the sentence in its subject and the links in its text', async () => {
  await tell(await destination({ kind: 'email', address: 'ops@example.com' }), 'opened', {
    kind: 'overspent',
    subject: 'acct_1',
  })
  start()
  await vi.waitFor(() => expect(mail.received).toHaveLength(1))
  expect(mail.received[0]?.to).toEqual(['ops@example.com'])
  const unfolded = mail.received[0]?.content.replace(/\r\n /g, ' ')
  expect(unfolded).toContain(
    'Subject: Shuntyard: [critical] The open holds of account acct_1 exceed its balance.',
  )
  expect(mail.received[0]?.content).toContain('https://gateway.example/sy/admin/alarms?tab=runbook#overspent')
})

test('an unreachable destination is retried and shown, and another gets an alarm at the third failure', async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  const id = await slack(`http://127.0.0.1:${port}/gone`)
  await tell(id, 'opened')
  const logger = pino({ level: 'silent' })
  const alarms = vi.spyOn(logger, 'error')
  start({ logger })
  for (let attempt = 1; attempt <= 3; attempt++) {
    await eventually(async () => {
      const row = await postgres.alarmDestination.findUniqueOrThrow({ where: { id } })
      expect(row).toMatchObject({ attempts: attempt, error: 'ECONNREFUSED', failingSince: expect.any(Date) })
      expect(row.nextAttemptAt!.getTime()).toBeGreaterThan(Date.now())
    })
    expect(alarms).toHaveBeenCalledTimes(attempt < 3 ? 0 : 1)
    await postgres.alarmDestination.update({ where: { id }, data: { nextAttemptAt: new Date(0) } })
  }
  expect(alarms.mock.calls[0]?.[0]).toMatchObject({
    ...{ alarm: 'alarm-not-delivered', subject: id, name: 'team', reason: 'ECONNREFUSED' },
  })
})

test('a 429 is tried again no sooner than it asks', async () => {
  receiver.answer = (response, index) =>
    index === 0 ? response.writeHead(429, { 'retry-after': '900' }).end() : response.writeHead(200).end('ok')
  const id = await slack()
  await tell(id, 'opened')
  start()
  await eventually(async () => {
    const row = await postgres.alarmDestination.findUniqueOrThrow({ where: { id } })
    expect(row.error).toBe('HTTP 429')
    expect(row.nextAttemptAt!.getTime() - Date.now()).toBeGreaterThan(800_000)
  })
  await store().addTest(id)
  await receiver.count(3)
  await eventually(async () =>
    expect(await store().find(id)).toMatchObject({ waiting: 0, failingSince: null }),
  )
})

test('a slow destination keeps no other waiting', async () => {
  const slow = await startWebhookReceiver()
  slow.answer = () => undefined
  await tell(await slack(slow.url), 'opened')
  const quick = await slack()
  start({ post: createPostWebhook({ allowPrivate: true, timeoutMs: 3_000 }) })
  await slow.count(1)
  for (let count = 0; count < 3; count++) await tell(quick, 'opened', { subject: `alpha/${count}` })
  await receiver.count(3)
  expect(slow.received).toHaveLength(1)
  await Promise.all(stops.splice(0).map((stop) => stop()))
  await slow.close()
})

test('many alarms come in one message, and PagerDuty still gets each resolution', async () => {
  const pagerduty = await startWebhookReceiver()
  const [chat, duty] = await Promise.all([
    slack(),
    destination({ kind: 'pagerduty', url: pagerduty.url, routingKey: ROUTING_KEY }),
  ])
  const ids: string[] = []
  for (let count = 0; count < 40; count++)
    for (const id of [chat, duty]) {
      const alarmId = await tell(id, 'opened', {
        subject: `acct_${count}-${id}`,
        kind: count < 2 ? 'overspent' : 'calls-lost',
      })
      if (id === duty) ids.push(alarmId)
    }
  for (const id of ids.slice(0, 2)) await tell(duty, 'resolved', { id })
  start()
  await Promise.all([receiver.count(1), pagerduty.count(3)])
  await eventually(async () => expect(await postgres.alarmNotice.count({ where: { sentAt: null } })).toBe(0))
  expect(receiver.received).toHaveLength(1)
  const [summary] = bodies()
  expect(errorsOf(SlackBody, summary)).toEqual([])
  expect(summary.text).toMatch(/^:red_circle: \*40 alarms opened \(2 critical\)\*/)
  expect(summary.text).toContain('And 20 more.')
  const events = pagerduty.received.map(({ body }) => JSON.parse(body))
  for (const event of events) expect(errorsOf(PagerDutyBody, event)).toEqual([])
  expect(events.map(({ event_action: action }) => action)).toEqual(['trigger', 'resolve', 'resolve'])
  expect(events[0].payload).toMatchObject({ severity: 'critical', summary: '40 alarms opened (2 critical)' })
  await pagerduty.close()
})

test('beyond its messages a minute a destination gets the rest together later', async () => {
  const id = await slack()
  start({ perMinute: 2 })
  for (let count = 1; count <= 2; count++) {
    await tell(id, 'opened', { subject: `alpha/${count}` })
    await receiver.count(count)
  }
  await eventually(async () => expect(await store().find(id)).toMatchObject({ waiting: 0 }))
  for (let count = 0; count < 5; count++) await tell(id, 'opened', { subject: `beta/${count}` })
  await delay(500)
  expect(receiver.received).toHaveLength(2)
  await postgres.alarmNotice.updateMany({
    where: { sentAt: { not: null } },
    data: { sentAt: new Date(Date.now() - 61_000) },
  })
  await receiver.count(3)
  expect(bodies()[2].text).toContain('*5 alarms opened*')
})

test('what a process did not record as sent is sent again by another when its lease ends', async () => {
  const id = await slack()
  await tell(id, 'opened')
  const dying = createAlarmNoticeStore(postgres)
  const bounds = { leaseMs: 1_000, perMinute: 10, perMinutePagerDuty: 10 }
  expect(await dying.claim(bounds)).toMatchObject([{ id, notices: [{ notice: { event: 'opened' } }] }])
  expect(await dying.claim(bounds)).toEqual([])
  start()
  await receiver.count(1)
  expect(receiver.received).toHaveLength(1)
})

test('no message goes to an address inside unless a setting allows it', async () => {
  const id = await slack()
  await tell(id, 'opened')
  start({ post: createPostWebhook({ allowPrivate: false, timeoutMs: 3_000 }) })
  await eventually(async () =>
    expect((await store().find(id))?.error).toBe('the address is not an https address'),
  )
  expect(receiver.received).toEqual([])
})

test('a target is stored sealed, under its own id', async () => {
  const [one, other] = [await slack(), await slack()]
  const rows = await postgres.alarmDestination.findMany()
  expect(JSON.stringify(rows)).not.toContain(receiver.url)
  const sealed = rows.find(({ id }) => id === one)!.targetSealed
  expect(JSON.parse(sealer.open(sealed, one))).toEqual({ kind: 'slack', url: receiver.url })
  expect(() => sealer.open(sealed, other)).toThrow()
})
