import { Registry } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { openQueues } from '../../../src/compose/clients.ts'
import { createQueueGauges } from '../../../src/platform/queues/queue-gauges.ts'
import { isSettlementBehind, readQueues } from '../../../src/platform/queues/queue-stats.ts'
import { createRedis } from '../../../src/platform/redis/redis.ts'
import { filled, testRedis } from '../../helpers/resources.ts'
import { createTestRedis } from '../../helpers/services.ts'

const SHARDS = 4
const first = testRedis()
const second = filled(
  () => createTestRedis({ durable: true }),
  (server) => server.close(),
)
const resources = new AsyncDisposableStack()
afterEach(() => resources.disposeAsync())

test('queues are read in every shard, and without those whose server is away', async () => {
  const url = `${first.url},${second.url}`
  const redis = createRedis({ url, name: 'test', mode: 'fail-fast', shards: SHARDS })
  resources.defer(() => redis.openedClients().forEach((client) => void client.disconnect()))
  const queues = openQueues(redis, resources)
  const [settled, running] = [{ records: [] }, { envelope: {}, sealedBody: null } as never]
  await queues.calls[1]!.settlement.add('settle', settled, { timestamp: Date.now() - 60_000 })
  await queues.calls[2]!.settlement.add('settle', settled)
  for (const { dispatch, shard } of queues.calls)
    for (let count = 0; count <= shard; count++) await dispatch.add('call', running, { priority: 1 })
  await queues.mail.add('verify_email', { kind: 'verify_email', accountId: 'acct_1' })

  const read = () => readQueues(redis, queues, Date.now(), 1_000)
  const waiting = async () => {
    const { data, shards_away } = await read()
    return { shards_away, queues: data.map((queue) => `${queue.name} ${queue.shard}: ${queue.waiting}`) }
  }
  expect(await waiting()).toEqual({
    shards_away: [],
    queues: [
      ...['dispatch 0: 1', 'dispatch 1: 2', 'dispatch 2: 3', 'dispatch 3: 4'],
      ...['settlement 0: 0', 'settlement 1: 1', 'settlement 2: 1', 'settlement 3: 0'],
      ...['events 0: 0', 'catalog 0: 0', 'mail 0: 1'],
    ],
  })
  const { data } = await read()
  expect(isSettlementBehind(data)).toBe(true)
  expect(isSettlementBehind(data.filter(({ shard }) => shard !== 1))).toBe(false)

  const registry = new Registry()
  createQueueGauges(registry, redis, queues)
  const scraped = await registry.metrics()
  expect(scraped).toContain('shuntyard_queue_jobs{queue="dispatch",shard="3",state="waiting"} 4')
  expect(scraped).toMatch(/shuntyard_settlement_lag_seconds\{shard="1"\} 60\.?\d*\n/)
  expect(scraped).toMatch(/shuntyard_settlement_lag_seconds\{shard="2"\} 0\.?\d*\n/)

  await second.kill()
  expect(await waiting()).toEqual({
    shards_away: [1, 3],
    queues: [
      ...['dispatch 0: 1', 'dispatch 2: 3', 'settlement 0: 0', 'settlement 2: 1'],
      ...['events 0: 0', 'catalog 0: 0', 'mail 0: 1'],
    ],
  })
  const left = await registry.metrics()
  expect(left).toContain('shuntyard_queue_jobs{queue="dispatch",shard="2",state="waiting"} 3')
  expect(left).not.toContain('shard="1"')
})
