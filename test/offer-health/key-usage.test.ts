import { expect, test } from 'vitest'
import { KeyUsage } from '../../src/offer-health/key-usage.ts'
import { testRedis } from '../helpers/resources.ts'

const server = testRedis()
const KEY = { id: 'one', requestsPerMinute: 5 }

test('processes that share their counts reach the limit of a key together, for the rest of the minute', async () => {
  let nowMs = 60_000_000
  const redis = server.connect('fail-fast')
  const [here, there] = [new KeyUsage(redis, () => nowMs), new KeyUsage(redis, () => nowMs)]
  for (let call = 0; call < 3; call++) here.add('acme', KEY, { requests: 1 })
  await here.flush()
  expect(here.backMs('acme', KEY)).toBe(0)
  for (let call = 0; call < 2; call++) there.add('acme', KEY, { requests: 1 })
  expect(there.backMs('acme', KEY)).toBe(0)
  await there.flush()
  expect(there.backMs('acme', KEY)).toBe(60_000)
  expect(there.backMs('other', KEY)).toBe(0)
  nowMs += 60_000
  expect(there.backMs('acme', KEY)).toBe(0)
})

test('a process that starts knows within a flush what a key has cost in the month', async () => {
  const nowMs = Date.parse('2026-11-28T12:00:00Z')
  const redis = server.connect('fail-fast')
  const key = { id: 'one', usdPerMonth: 2 }
  const before = new KeyUsage(redis, () => nowMs)
  before.add('acme', key, { requests: 1, tokens: 100, costPico: 2e12 })
  await before.flush()
  const after = new KeyUsage(redis, () => nowMs)
  expect(after.backMs('acme', key)).toBe(0)
  await after.flush()
  expect(after.backMs('acme', key)).toBe(Date.parse('2026-12-01T00:00:00Z') - nowMs)
  expect(after.backMs('acme', { ...key, usdPerMonth: 3 })).toBe(0)
})

test('a key without limits is not counted', async () => {
  const commands: unknown[] = []
  const usage = new KeyUsage({ pipeline: () => commands.push('pipeline') as never }, () => 0)
  usage.add('acme', { id: 'one', requestsPerMinute: null }, { requests: 1, tokens: 9 })
  await usage.flush()
  expect(commands).toEqual([])
})
