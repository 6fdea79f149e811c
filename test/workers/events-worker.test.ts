import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { Counter } from 'prom-client'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SubscribedEventType } from '../../src/core/webhooks/event.ts'
import {
  createEventsQueue,
  type DeliveryAttempt,
  type EventsQueue,
  enqueueDeliveries,
} from '../../src/platform/queues/queues.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import { createDeliveryLog } from '../../src/webhooks/delivery-log.ts'
import { createDeliveryStore, type DeliveryStore } from '../../src/webhooks/delivery-store.ts'
import {
  createEndpointStore,
  type EndpointStore,
  WEBHOOK_SECRET_PURPOSE,
} from '../../src/webhooks/endpoint-store.ts'
import { recordEvent } from '../../src/webhooks/event-outbox.ts'
import { createPostWebhook, type DeliverEventDependencies } from '../../workers/events/deliver-event.ts'
import { type EventRelayOptions, startEventRelay } from '../../workers/events/events-part.ts'
import { startEventsWorker } from '../../workers/events-worker.ts'
import { openTestAccount, openTestLedger, type TestLedger } from '../helpers/billing.ts'
import { eventually, onBusyMachine } from '../helpers/eventually.ts'
import { createTestRedis, type TestRedis } from '../helpers/services.ts'
import {
  type ReceivedWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../helpers/webhook-receiver.ts'

const DAY_MS = 86_400_000
const sealer = createSealer([randomBytes(32)], WEBHOOK_SECRET_PURPOSE)
const logger = pino({ level: 'silent' })

describe('events out', () => {
  let ledger: TestLedger
  let server: TestRedis
  let redis: Redis
  let queue: EventsQueue
  let receiver: WebhookReceiver
  let deliveries: DeliveryStore
  let endpoints: EndpointStore
  let accountId: string
  const running: Array<() => Promise<void>> = []

  beforeAll(async () => {
    ledger = await openTestLedger()
    server = await createTestRedis()
    redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
    queue = createEventsQueue(redis)
    deliveries = createDeliveryStore(ledger.postgres)
    endpoints = createEndpointStore(ledger.postgres, sealer, randomBytes)
  })
  beforeEach(async () => {
    receiver = await startWebhookReceiver()
    accountId = await openTestAccount(ledger.postgres, 1_000n)
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((stop) => stop()))
    await receiver.close()
    await ledger.postgres.event.deleteMany()
    await queue.obliterate({ force: true })
  })
  afterAll(async () => {
    await queue.close()
    redis.disconnect()
    await server.close()
    await ledger.close()
  })

  const start = (
    worker: Partial<DeliverEventDependencies> & { jobLockMs?: number; concurrency?: number } = {},
    relay: Partial<EventRelayOptions> = {},
  ) => {
    const connection = createRedis({ url: server.url, name: 'test-events', mode: 'wait' })
    const moving = startEventRelay({
      deliveries,
      enqueue: (due) => enqueueDeliveries(queue, due),
      mail: null,
      keepEventsMs: 30 * DAY_MS,
      logger,
      everyMs: 10,
      ...relay,
    })
    const delivering = startEventsWorker({
      redis: connection,
      concurrency: 8,
      jobLockMs: 1_000,
      deliveries,
      sealer,
      post: createPostWebhook({ allowPrivate: true, timeoutMs: 30_000 }),
      retryDelaysMs: [20, 20, 20],
      disableAfterMs: DAY_MS,
      clock: Date.now,
      random: () => 0.5,
      logger,
      attempts: new Counter({
        name: 'attempts_total',
        help: 'attempts',
        labelNames: ['outcome'],
        registers: [],
      }),
      ...worker,
    })
    running.push(async () => {
      await Promise.all([moving.stop(), delivering.stop()])
      connection.disconnect()
    })
  }
  const happen = (type: SubscribedEventType = 'topup.settled', data = { amount_usd: '5.00' }) =>
    recordEvent(ledger.postgres, { type, accountId, data })
  const verify = (secret: string, { body, headers }: ReceivedWebhook) =>
    new Webhook(secret).verify(body, headers as Record<string, string>)
  const log = () => createDeliveryLog(ledger.postgres)({ accountId, limit: 100 })
  const done = (state: 'delivered' | 'failed', count = 1) =>
    eventually(async () => {
      const entries = await log()
      expect(entries.map((entry) => entry.state)).toEqual(Array(count).fill(state))
      return entries
    })

  test('an event arrives once, signed, and is logged', async () => {
    const { secret, endpoint } = await endpoints.create(accountId, receiver.url, [])
    start()
    start()
    const id = await happen()
    const [webhook] = await receiver.count(1)
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(verify(secret, webhook!)).toEqual({
      id,
      type: 'topup.settled',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: { account_id: accountId, amount_usd: '5.00' },
    })
    expect(webhook?.headers['webhook-id']).toBe(id)
    expect(await done('delivered')).toEqual([
      expect.objectContaining({
        eventId: id,
        endpointId: endpoint.id,
        attempts: [
          { at: expect.any(String), status_code: 204, error: null, duration_ms: expect.any(Number) },
        ],
      }),
    ])
    expect(await queue.getJobCountByTypes('waiting', 'active', 'delayed', 'failed', 'completed')).toBe(0)
    expect(receiver.received).toHaveLength(1)
  })

  test('a signature under another secret, and an altered body, do not verify', async () => {
    const { secret } = await endpoints.create(accountId, receiver.url, [])
    start()
    await happen()
    const [webhook] = await receiver.count(1)
    const forged = `whsec_${randomBytes(32).toString('base64')}`
    expect(() => verify(forged, webhook!)).toThrow(WebhookVerificationError)
    const altered = { ...webhook!, body: webhook!.body.replace('5.00', '9.00') }
    expect(() => verify(secret, altered)).toThrow(WebhookVerificationError)
  })

  test('an endpoint gets the types it asked for, of its own account', async () => {
    const stranger = await openTestAccount(ledger.postgres, 1n)
    await endpoints.create(stranger, `${receiver.url}/stranger`, [])
    await endpoints.create(accountId, `${receiver.url}/keys`, ['key.revoked'])
    await endpoints.create(accountId, `${receiver.url}/all`, [])
    start()
    await happen('topup.failed')
    await happen('key.revoked')
    await receiver.count(3)
    await done('delivered', 3)
    const got = receiver.received.map(({ path, body }) => `${path} ${JSON.parse(body).type}`)
    expect(got.sort()).toEqual(['/hook/all key.revoked', '/hook/all topup.failed', '/hook/keys key.revoked'])
  })

  test('a 500 and a silence are tried again, under the same id and with the same body', async () => {
    const { secret } = await endpoints.create(accountId, receiver.url, [])
    receiver.answer = (response, index) => {
      if (index === 0) response.writeHead(500).end()
      if (index === 2) response.writeHead(204).end()
    }
    start({ post: createPostWebhook({ allowPrivate: true, timeoutMs: 2_000 }) })
    const id = await happen()
    const received = await receiver.count(3)
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id])
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    for (const webhook of received) verify(secret, webhook)
    const [entry] = await done('delivered')
    expect(entry?.attempts.map(({ status_code, error }) => status_code ?? error)).toEqual([
      500,
      'no response within 2000 ms',
      204,
    ])
  })

  test('attempts end after the last pause', async () => {
    await endpoints.create(accountId, receiver.url, [])
    receiver.answer = (response) => response.writeHead(503).end()
    start()
    await happen()
    const [entry] = await done('failed')
    expect(entry?.attempts).toHaveLength(4)
    expect(receiver.received).toHaveLength(4)
  })

  test('a crash between delivery and its record delivers again, under the same id', async () => {
    await endpoints.create(accountId, receiver.url, [])
    let crashes = 0
    const record: DeliveryStore['record'] = (...args) => {
      crashes += 1
      return crashes === 1 ? Promise.reject(new Error('crashed')) : deliveries.record(...args)
    }
    start({ deliveries: { ...deliveries, record } }, { leaseMs: 100 })
    const id = await happen()
    const received = await receiver.count(2)
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id])
    await done('delivered')
  })

  test('jobs that Redis lost are queued again', async () => {
    await endpoints.create(accountId, receiver.url, [])
    const enqueue = vi.fn(async (due: DeliveryAttempt[]) => {
      if (enqueue.mock.calls.length > 1) await enqueueDeliveries(queue, due)
    })
    start({}, { enqueue, leaseMs: 100 })
    await happen()
    await receiver.count(1)
    await done('delivered')
  })

  test('an outbox that fails to be read is read again', async () => {
    await endpoints.create(accountId, receiver.url, [])
    const fanOut = vi.fn<DeliveryStore['fanOut']>(async (limit) => {
      if (fanOut.mock.calls.length < 3) throw new Error('postgres is away')
      return deliveries.fanOut(limit)
    })
    await happen()
    start({}, { deliveries: { ...deliveries, fanOut } })
    await receiver.count(1)
  })

  describe('beside endpoints that never answer', () => {
    let silent: WebhookReceiver
    const LONG_MS = 60_000
    /** Of a delivery of an account that is not to blame. */
    const SOON_MS = onBusyMachine(2_000)

    beforeEach(async () => {
      silent = await startWebhookReceiver()
      silent.answer = () => undefined
      // Before the worker stops: it waits for attempts that run.
      running.push(() => silent.close())
    })

    const startPatient = () =>
      start({ post: createPostWebhook({ allowPrivate: true, timeoutMs: LONG_MS }), concurrency: 32 })
    const tell = (account: string) =>
      recordEvent(ledger.postgres, { type: 'topup.settled', accountId: account, data: {} })
    const flood = async (account: string, events: number) => {
      for (let count = 0; count < 10; count += 1) await endpoints.create(account, silent.url, [])
      await Promise.all(Array.from({ length: events }, () => tell(account)))
    }
    const setProven = (account: string) =>
      ledger.postgres.webhookEndpoint.updateMany({
        where: { accountId: account },
        data: { provenAt: new Date() },
      })
    const arrivesSoon = async (account: string) => {
      const before = receiver.received.length
      const startedAt = performance.now()
      await tell(account)
      await receiver.count(before + 1)
      expect(performance.now() - startedAt).toBeLessThan(SOON_MS)
    }

    test("ten of one account's with many events hold up no other account, not even its first delivery", async () => {
      const other = await openTestAccount(ledger.postgres, 1n)
      await endpoints.create(other, receiver.url, [])
      await flood(accountId, 40)
      startPatient()
      await silent.count(2)
      await arrivesSoon(other)
      await arrivesSoon(other)
      expect(silent.received).toHaveLength(2)
    })

    test('ten that used to answer take up no more than their account may', async () => {
      const other = await openTestAccount(ledger.postgres, 1n)
      await endpoints.create(other, receiver.url, [])
      await flood(accountId, 40)
      await setProven(accountId)
      startPatient()
      await silent.count(8)
      await arrivesSoon(other)
      expect(silent.received).toHaveLength(8)
    })

    test('those of many accounts hold up only each other', async () => {
      const other = await openTestAccount(ledger.postgres, 1n)
      await endpoints.create(other, receiver.url, [])
      await setProven(other)
      for (let count = 0; count < 6; count += 1) await flood(await openTestAccount(ledger.postgres, 1n), 5)
      startPatient()
      await silent.count(8)
      await arrivesSoon(other)
      expect(silent.received).toHaveLength(8)
    })

    test('an endpoint is slow for a while after an attempt that took long, and few of its deliveries run', async () => {
      const { endpoint } = await endpoints.create(accountId, silent.url, [])
      await setProven(accountId)
      await tell(accountId)
      await deliveries.fanOut(10)
      const due = (await deliveries.findDue((await log())[0]!.id))!
      const timedOut = { kind: 'unanswered', error: 'no answer', durationMs: 15_000 } as const
      await deliveries.record(due, timedOut, { kind: 'give-up' }, DAY_MS)
      const row = await ledger.postgres.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } })
      expect(row.slowUntil?.getTime()).toBeGreaterThan(Date.now())
      for (let count = 0; count < 10; count += 1) await tell(accountId)
      startPatient()
      await silent.count(2)
      const other = await openTestAccount(ledger.postgres, 1n)
      await endpoints.create(other, receiver.url, [])
      await arrivesSoon(other)
      expect(silent.received).toHaveLength(2)
    })
  })

  test('an endpoint that answers 410 is disabled and gets nothing until it is enabled', async () => {
    const { endpoint } = await endpoints.create(accountId, receiver.url, [])
    receiver.answer = (response, index) => response.writeHead(index === 0 ? 410 : 204).end()
    start()
    await happen()
    await done('failed')
    expect(await endpoints.list(accountId)).toEqual([
      expect.objectContaining({ enabled: false, disabledReason: 'it returned 410 Gone' }),
    ])
    await happen()
    await eventually(async () =>
      expect(await ledger.postgres.event.count({ where: { fannedOutAt: null } })).toBe(0),
    )
    expect(await log()).toHaveLength(1)
    expect(await endpoints.enable(endpoint.id)).toMatchObject({ enabled: true, disabledReason: null })
    await happen()
    await receiver.count(2)
  })

  test('an endpoint that fails for too long is disabled, with a line in the log and its deliveries given up', async () => {
    const { endpoint } = await endpoints.create(accountId, receiver.url, [])
    receiver.answer = (response) => response.writeHead(500).end()
    const warn = vi.fn()
    start({ disableAfterMs: 0, logger: { ...logger, warn } as never, retryDelaysMs: [30, 30, 30, 30, 30] })
    await happen()
    await happen()
    await done('failed', 2)
    expect(await endpoints.list(accountId)).toEqual([expect.objectContaining({ enabled: false })])
    expect(warn).toHaveBeenCalledWith(
      expect.objectContaining({ endpointId: endpoint.id, alarm: 'webhook-endpoint-disabled' }),
      'webhook endpoint disabled',
    )
  })

  test('a success between failures restarts the count', async () => {
    await endpoints.create(accountId, receiver.url, [])
    receiver.answer = (response, index) => response.writeHead(index === 0 ? 500 : 204).end()
    start()
    await happen()
    await done('delivered')
    expect(await endpoints.list(accountId)).toEqual([
      expect.objectContaining({ enabled: true, failingSince: null }),
    ])
  })

  test('after a rotation both secrets sign, and after the overlap only the new one', async () => {
    const { endpoint, secret } = await endpoints.create(accountId, receiver.url, [])
    const second = (await endpoints.rotateSecret(endpoint.id, 60_000))!
    start()
    await happen()
    const [both] = await receiver.count(1)
    verify(secret, both!)
    verify(second, both!)
    const third = (await endpoints.rotateSecret(endpoint.id, 0))!
    await happen()
    const newest = (await receiver.count(2))[1]!
    verify(third, newest)
    expect(() => verify(second, newest)).toThrow(WebhookVerificationError)
    expect(() => verify(secret, newest)).toThrow(WebhookVerificationError)
  })

  test('a test event reaches the one endpoint, whatever types it asked for', async () => {
    const { endpoint } = await endpoints.create(accountId, `${receiver.url}/one`, ['key.revoked'])
    await endpoints.create(accountId, `${receiver.url}/other`, [])
    start()
    await endpoints.test(endpoint.id)
    await receiver.count(1)
    await done('delivered')
    expect(receiver.received).toMatchObject([{ path: '/hook/one' }])
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({
      type: 'webhook.test',
      data: { endpoint_id: endpoint.id },
    })
  })

  test('an address that is not public gets nothing', async () => {
    await endpoints.create(accountId, receiver.url, [])
    await endpoints.create(accountId, `https://localhost:443/`, [])
    start({ post: createPostWebhook({ allowPrivate: false, timeoutMs: 30_000 }), retryDelaysMs: [] })
    await happen()
    const entries = await done('failed', 2)
    expect(entries.map((entry) => entry.attempts[0]?.error).sort()).toEqual([
      'the address is not a public address',
      'the address is not an https address',
    ])
    expect(receiver.received).toEqual([])
  })

  test('the queue and the database hold no secret in the clear', async () => {
    const { endpoint, secret } = await endpoints.create(accountId, receiver.url, [])
    const row = await ledger.postgres.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } })
    expect(row.secretSealed).not.toContain(secret.slice('whsec_'.length))
    expect(sealer.open(row.secretSealed, endpoint.id)).toBe(secret)
    expect(() => sealer.open(row.secretSealed, 'hook_other')).toThrow()
    const enqueued: DeliveryAttempt[] = []
    const relay = startEventRelay({
      deliveries,
      enqueue: async (due) => {
        enqueued.push(...due)
        await enqueueDeliveries(queue, due)
      },
      mail: null,
      keepEventsMs: DAY_MS,
      logger,
      everyMs: 10,
    })
    running.push(() => relay.stop())
    await happen()
    const [job] = await eventually(async () => {
      const jobs = await queue.getWaiting()
      expect(jobs).toHaveLength(1)
      return jobs
    })
    expect(job?.data).toEqual({ deliveryId: enqueued[0]?.id })
  })

  test('old events go, with their deliveries, and what is still to be delivered stays', async () => {
    await endpoints.create(accountId, receiver.url, [])
    await happen()
    await happen()
    await deliveries.fanOut(10)
    const [first] = await log()
    const due = (await deliveries.findDue(first!.id))!
    await deliveries.record(
      due,
      { kind: 'answered', statusCode: 200, retryAfterMs: null, durationMs: 1 },
      { kind: 'delivered' },
      DAY_MS,
    )
    expect(await deliveries.purge(DAY_MS, 10)).toBe(0)
    expect(await deliveries.purge(-1_000, 10)).toBe(1)
    expect((await log()).map((entry) => entry.state)).toEqual(['pending'])
  })

  test('an account has a bounded number of endpoints', async () => {
    const created = await Promise.allSettled(
      Array.from({ length: 14 }, () => endpoints.create(accountId, receiver.url, [])),
    )
    expect(created.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(10)
  })
})
