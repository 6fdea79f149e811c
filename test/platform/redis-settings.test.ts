import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { StartError } from '../../src/core/kernel/errors.ts'
import { checkRedisSettings, type Redis } from '../../src/platform/redis/redis.ts'

const GOOD = 'redis_mode:standalone\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\ncluster_enabled:0\r\n'
const check = (info: string) => {
  const server = { info: async () => info, shards: 1, shard: () => server }
  return checkRedisSettings(server as unknown as Redis, pino({ level: 'silent' }))
}

describe('the settings of Redis', () => {
  test('are fine for a single server that evicts nothing', () => check(GOOD))

  test.each([
    ['a Sentinel', 'redis_mode:sentinel\r\n', /runs as a sentinel: begin REDIS_URL with redis\+sentinel:/],
    [
      'a Cluster',
      GOOD.replace('standalone', 'cluster'),
      /runs as a cluster: begin REDIS_URL with redis\+cluster:/,
    ],
    [
      'a Cluster that says so elsewhere',
      GOOD.replace('cluster_enabled:0', 'cluster_enabled:1'),
      /a cluster: begin/,
    ],
    ['one that evicts', GOOD.replace('noeviction', 'allkeys-lru'), /noeviction, not allkeys-lru/],
  ])('are refused in one line: %s', async (_, info, message) => {
    const error = await check(info).then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(StartError)
    expect((error as Error).message).toMatch(message)
    expect((error as Error).message).not.toContain('\n')
  })
})
