import pino from 'pino'
import { expect, test } from 'vitest'
import { createServerCheck } from '../../../src/platform/observability/redis-servers.ts'

const answers = async () => 'OK' as const
const fails = (message: string) => async () => {
  throw new Error(message)
}

/** The alarms of a check of shards over servers of which each responds like this. */
async function alarmsWith(sets: Array<() => Promise<'OK'>>, shards: number) {
  const servers = sets.map((set) => ({ set }))
  const redis = { shards, shard: (shard: number) => servers[shard % servers.length] }
  const logged: unknown[] = []
  const logger = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
  await createServerCheck({ redis: redis as never, processId: 'settle_1', logger, withinMs: 20 })()
  return logged
}

test('a server that hangs or refuses writes raises an alarm that names its shards', async () => {
  const hangs = () => new Promise<never>(() => undefined)
  const isFull = fails("OOM command not allowed when used memory > 'maxmemory'.")
  expect(await alarmsWith([answers, answers, hangs, isFull], 8)).toMatchObject([
    { alarm: 'redis-refuses-writes', subject: 'shard 3', shards: '3, 7' },
    { alarm: 'redis-shards-away', subject: 'shard 2', shards: '2, 6' },
  ])
})

test('the server of the first shard has no alarm of its own', async () => {
  expect(await alarmsWith([fails('redis is not connected'), answers], 2)).toEqual([])
  expect(await alarmsWith([fails('redis is not connected')], 4)).toEqual([])
})
