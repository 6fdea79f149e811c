import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createRedis } from '../../src/platform/redis/redis.ts'
import { prepareEmbeddedRedis } from '../../tools/launcher/embedded-redis.ts'
import { spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import type { RedisProgram } from '../../tools/launcher/services/redis-program.ts'
import { simulatedProvidersPlan } from '../../tools/launcher/start/gateway-plans.ts'

test('the embedded Redis listens on no port, and on a socket that only its user may open', async () => {
  const program = JSON.parse(process.env.TEST_REDIS_PROGRAM!) as RedisProgram
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-redis-'))
  const redis = await prepareEmbeddedRedis({ program, folder, durable: false })
  const running = await spawnPlan(redis.plan)
  const client = createRedis({ url: redis.url, name: 'test', mode: 'wait' })
  try {
    expect(await client.config('GET', 'port')).toEqual(['port', '0'])
    expect(redis.tcpUrl).toBeNull()
    const socket = await stat(new URL(redis.url).pathname)
    expect(socket.mode & 0o077).toBe(0)
  } finally {
    client.disconnect()
    await running.stop()
    await redis.cleanUp()
    await rm(folder, { recursive: true, force: true })
  }
})

test('the simulated providers get no secret', () => {
  const environment = { PATH: '/bin', MASTER_KEY: 'secret', DATABASE_URL: 'secret', OPENAI_API_KEY: 'secret' }
  const { env } = simulatedProvidersPlan('/', environment, 9010)
  expect(Object.values(env)).not.toContain('secret')
})

test('metrics listen on loopback unless METRICS_HOST is set', () => {
  const environment = {
    DATABASE_URL: 'postgresql://localhost/a',
    REDIS_URL: 'redis://localhost',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    HOST: '0.0.0.0',
  }
  expect(readConfig(environment).metricsHost).toBe('127.0.0.1')
  expect(readConfig({ ...environment, METRICS_HOST: '0.0.0.0' }).metricsHost).toBe('0.0.0.0')
})

test('a master key that was ever published as an example is refused', () => {
  const published = 'dHJ5aW5nLWl0LW91dC1vbmx5LW5vdC1hLXNlY3JldCE='
  expect(() => readConfig({ MASTER_KEY: published })).toThrow(/published as an example/)
})
