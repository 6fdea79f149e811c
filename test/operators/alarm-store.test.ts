import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AlarmCount } from '../../src/core/alarms/alarm.ts'
import { alarmAccount } from '../../src/core/alarms/alarm-kinds.ts'
import { newId } from '../../src/core/kernel/ids.ts'
import { createAlarmStore } from '../../src/operators/alarm-store.ts'
import { createPostgres, type Postgres } from '../../src/platform/postgres/postgres.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { ALARMS } from '../../src/platform/redis/redis-keys.ts'
import {
  createTestDatabase,
  createTestRedis,
  type TestDatabase,
  type TestRedis,
} from '../helpers/services.ts'

let database: TestDatabase
let server: TestRedis
let postgres: Postgres
let redis: Redis

beforeAll(async () => {
  ;[database, server] = await Promise.all([createTestDatabase(), createTestRedis()])
  postgres = createPostgres({ databaseUrl: database.url, name: 'test', poolSize: 6 })
  redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
})
beforeEach(async () => {
  await postgres.alarm.deleteMany()
  await postgres.alarmDestination.deleteMany()
})
afterAll(async () => {
  redis.disconnect()
  await postgres.$disconnect()
  await server.close()
  await database.drop()
})

const raise = (changes: Partial<AlarmCount> = {}) =>
  redis.xadd(
    ALARMS,
    '*',
    'alarm',
    JSON.stringify({
      kind: 'breaker-opened',
      subject: 'alpha/x',
      message: 'a breaker opened',
      fields: { reason: 'failing' },
      count: 1,
      isOver: false,
      firstAt: Date.UTC(2027, 0, 1),
      lastAt: Date.UTC(2027, 0, 1),
      ...changes,
    }),
  )
const openOnes = () =>
  createAlarmStore(postgres).page({ openOnly: true, accountId: null, after: null, limit: 10 })

test('the alarms of an account are those that name it, in their fields or as their subject', async () => {
  const store = createAlarmStore(postgres)
  const [ann, bob] = [newId('acct'), newId('acct')]
  await raise({ kind: 'charge-credited', subject: ann, fields: {} })
  await raise({ kind: 'one', subject: 'pay_1', fields: { accountId: ann } })
  await raise({ kind: 'breaker-opened', subject: `alpha/x#account:${ann}`, fields: { reason: 'failing' } })
  await raise({ kind: 'charge-credited', subject: bob, fields: {} })
  await store.takeOver(redis, 100)
  const page = { openOnly: false, accountId: ann, after: null, limit: 10 }
  const found = await store.page(page)
  expect(new Set(found.map(({ kind }) => kind))).toEqual(
    new Set(['charge-credited', 'one', 'breaker-opened']),
  )
  expect(found.map(alarmAccount)).toEqual([ann, ann, ann])
  await store.acknowledge(found[0]!.id, 'key_1', new Date())
  expect(await store.page({ ...page, openOnly: true })).toEqual(found.slice(1))
  expect(await store.page({ ...page, after: found[0]!.id, limit: 1 })).toEqual([found[1]])
})

test('each entry counts once, however many processes take over at the same time', async () => {
  const stores = Array.from({ length: 6 }, () => createAlarmStore(postgres))
  for (let round = 0; round < 10; round++) {
    await Promise.all([raise(), raise({ count: 2 }), raise({ subject: 'alpha/y' })])
    await Promise.all(stores.map((store) => store.takeOver(redis, 100)))
  }
  while ((await stores[0]!.takeOver(redis, 100)) > 0);
  const alarms = await openOnes()
  expect(alarms.map(({ subject, count }) => [subject, count]).sort()).toEqual([
    ['alpha/x', 30],
    ['alpha/y', 10],
  ])
})

test('a repetition after the acknowledgement opens a new alarm; the old one stays as it was', async () => {
  const store = createAlarmStore(postgres)
  await raise()
  await store.takeOver(redis, 100)
  const [first] = await openOnes()
  const at = new Date('2027-01-02T00:00:00Z')
  expect(await store.acknowledge(first!.id, 'key_1', at)).toMatchObject({ acknowledgedBy: 'key_1' })
  expect(await store.acknowledge(first!.id, 'key_2', new Date())).toMatchObject({
    acknowledgedBy: 'key_1',
    acknowledgedAt: at,
  })
  await raise({ count: 7 })
  await store.takeOver(redis, 100)
  const [second] = await openOnes()
  expect(second).toMatchObject({ count: 7, acknowledgedAt: null })
  expect(second?.id).not.toBe(first?.id)
  expect(await store.countOpen()).toBe(1)
  await store.prune(new Date('2027-01-03T00:00:00Z'))
  expect(await store.page({ openOnly: false, accountId: null, after: null, limit: 10 })).toHaveLength(1)
})

test('text that PostgreSQL cannot hold, and numbers beyond its own, are stored as what it can', async () => {
  const half = '\u{1F600}'.slice(0, 1)
  await raise({
    subject: `cut ${half}`,
    message: `a\0b${half}`,
    fields: { [`name${half}`]: `\0${half}`, plain: 1 },
  })
  await raise({ subject: 'often', count: 2_147_483_647 })
  await raise({ subject: 'often', count: 2_147_483_647 })
  await raise({ subject: 'never', firstAt: Number.MAX_SAFE_INTEGER })
  await raise({ subject: 'behind' })
  const store = createAlarmStore(postgres)
  expect(await store.takeOver(redis, 100)).toBe(5)
  expect(await store.takeOver(redis, 100)).toBe(0)
  const alarms = await openOnes()
  expect(alarms.map(({ subject, count }) => [subject, count]).sort()).toEqual([
    ['behind', 1],
    ['cut \uFFFD', 1],
    ['often', 2_147_483_647],
  ])
  expect(alarms.find(({ subject }) => subject.startsWith('cut'))).toMatchObject({
    message: 'a\uFFFDb\uFFFD',
    fields: { 'name\uFFFD': '\uFFFD\uFFFD', plain: 1 },
  })
})

test('what cannot be read as an alarm does not hold up those behind it', async () => {
  await redis.xadd(ALARMS, '*', 'alarm', '{broken')
  await redis.xadd(ALARMS, '*', 'other', 'field')
  await raise({ kind: 'overspent', subject: 'acct_1' })
  expect(await createAlarmStore(postgres).takeOver(redis, 100)).toBe(3)
  expect(await openOnes()).toMatchObject([{ kind: 'overspent', subject: 'acct_1', count: 1 }])
})

test('the alarm stream restarts after Redis lost its data, and its alarms are stored', async () => {
  const store = createAlarmStore(postgres)
  await raise()
  await store.takeOver(redis, 100)
  await redis.del(ALARMS)
  await raise({ subject: 'alpha/new' })
  expect(await store.takeOver(redis, 100)).toBe(1)
  expect((await openOnes()).map(({ subject }) => subject)).toContain('alpha/new')
})

test('entries are found after a look that found none, and those that another process takes over are not looked for again', async () => {
  const [one, other] = [createAlarmStore(postgres), createAlarmStore(postgres)]
  while ((await one.takeOver(redis, 100)) > 0);
  await raise()
  expect(await one.takeOver(redis, 100)).toBe(1)
  expect(await one.takeOver(redis, 100)).toBe(0)
  await raise()
  expect(await other.takeOver(redis, 100)).toBe(1)
  expect(await one.takeOver(redis, 100)).toBe(0)
  await raise()
  expect(await one.takeOver(redis, 100)).toBe(1)
  expect((await openOnes()).map(({ count }) => count)).toEqual([3])
})

const LATER = { firstAt: Date.UTC(2027, 0, 1, 1), lastAt: Date.UTC(2027, 0, 1, 1) }
const over = () => raise({ count: 0, isOver: true, ...LATER })
const destination = async (minimumSeverity: string, id = newId('adest')) => {
  const data = { id, kind: 'slack', name: id, targetSealed: '', targetHint: '', minimumSeverity }
  await postgres.alarmDestination.create({ data })
  return id
}
const told = async (destinationId: string) =>
  (await postgres.alarmNotice.findMany({ where: { destinationId }, orderBy: { id: 'asc' } })).map(
    ({ event }) => event,
  )

test('a reopened alarm continues its count and is sent again', async () => {
  const store = createAlarmStore(postgres)
  const [all, critical] = [await destination('info'), await destination('critical')]
  await raise()
  await store.takeOver(redis, 100)
  await raise({ count: 3 })
  await store.takeOver(redis, 100)
  expect(await told(all)).toEqual(['opened'])
  await over()
  await store.takeOver(redis, 100)
  expect(await openOnes()).toEqual([])
  expect(await told(all)).toEqual(['opened', 'resolved'])
  await raise()
  await store.takeOver(redis, 100)
  expect(await openOnes()).toMatchObject([{ count: 5, resolvedAt: null }])
  expect(await told(all)).toEqual(['opened', 'resolved', 'opened'])
  expect(await told(critical)).toEqual([])
})

test('an alarm that opened and ended between two readings is sent as both, and an unraised one not at all', async () => {
  const store = createAlarmStore(postgres)
  const all = await destination('info')
  await Promise.all([raise(), over(), raise({ kind: 'settlement-waits', count: 0, isOver: true, ...LATER })])
  await store.takeOver(redis, 100)
  expect(await told(all)).toEqual(['opened', 'resolved'])
  expect(
    (await store.page({ openOnly: false, accountId: null, after: null, limit: 10 })).map(({ kind }) => kind),
  ).toEqual(['breaker-opened'])
})

test('acknowledging what does not last resolves it, and what lasts stays until it is over', async () => {
  const store = createAlarmStore(postgres)
  const all = await destination('info')
  const acknowledge = async (kind: string) => {
    await raise({ kind, ...LATER })
    await store.takeOver(redis, 100)
    const [alarm] = await openOnes()
    return store.acknowledge(alarm!.id, 'key_1', new Date('2027-01-02T00:00:00Z'))
  }
  expect(await acknowledge('calls-lost')).toMatchObject({ resolvedAt: expect.any(Date) })
  expect(await told(all)).toEqual(['opened', 'resolved'])
  expect(await acknowledge('breaker-opened')).toMatchObject({ resolvedAt: null })
  await over()
  await store.takeOver(redis, 100)
  expect(await told(all)).toEqual(['opened', 'resolved', 'opened', 'acknowledged', 'resolved'])
})

test('an alarm of a kind that repeats while it lasts is over once it is not raised again', async () => {
  const store = createAlarmStore(postgres)
  const all = await destination('info')
  const [now, longAgo] = [Date.now(), Date.now() - 3_600_000]
  await raise({ kind: 'redis-refuses-writes', subject: 'a', firstAt: longAgo, lastAt: longAgo })
  await raise({ kind: 'redis-refuses-writes', subject: 'b', firstAt: longAgo, lastAt: now })
  await raise({ kind: 'overspent', subject: 'c', firstAt: longAgo, lastAt: longAgo })
  await store.takeOver(redis, 100)
  await store.endQuiet()
  expect((await openOnes()).map(({ subject }) => subject).toSorted()).toEqual(['b', 'c'])
  expect((await told(all)).toSorted()).toEqual(['opened', 'opened', 'opened', 'resolved'])
})

test('the alarm about an unreachable destination goes to the other destinations only', async () => {
  const store = createAlarmStore(postgres)
  const [broken, other] = [await destination('info'), await destination('info')]
  await raise({ kind: 'alarm-not-delivered', subject: broken })
  await store.takeOver(redis, 100)
  expect(await told(broken)).toEqual([])
  expect(await told(other)).toEqual(['opened'])
})
