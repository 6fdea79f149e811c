import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createRedis } from '../../../src/platform/redis/redis.ts'
import { createEpochReader, watchEpoch } from '../../../src/platform/redis/redis-epoch.ts'
import { startCluster, startSentinelGroup } from '../../helpers/redis-group.ts'
import { filled } from '../../helpers/resources.ts'

const SILENT = pino({ level: 'silent' })
const STARTS_WITHIN_MS = 120_000

/** The server behind the epoch, and what a watch of it said. */
async function watched(url: string) {
  const redis = createRedis({ url, name: 'test', mode: 'wait' })
  const epoch = await watchEpoch({ redis, readEpoch: createEpochReader(redis), logger: SILENT, pollMs: 50 })
  const said: string[] = []
  epoch.onEmptied(() => said.push('emptied'))
  epoch.onReconnected(() => said.push('reconnected'))
  const close = () => {
    epoch.stop()
    redis.disconnect()
  }
  return { redis, epoch, said, close }
}

const group = filled(startSentinelGroup, (servers) => servers.close(), STARTS_WITHIN_MS)

test('a promoted replica is another server: what the primary had not passed on is counted as lost', async () => {
  const { redis, epoch, said, close } = await watched(group.url)
  const before = await epoch.durabilityToken()
  expect(await epoch.durabilityToken()).toBe(before)
  await redis.wait(1, 5_000)
  await group.stopReplication()
  await redis.set('written', 'once')
  await group.primary.kill()
  // Sent while there is no primary: done by the next one.
  await redis.set('sent-meanwhile', '1')
  expect(await redis.get('written')).toBeNull()
  await expect.poll(() => said).toContain('reconnected')
  expect(said).not.toContain('emptied')
  expect(await epoch.durabilityToken()).not.toBe(before)
  close()
})

const cluster = filled(startCluster, (servers) => servers.close(), STARTS_WITHIN_MS)

test('a client of a cluster follows its slot to a promoted replica, and to another node', async () => {
  const { redis, epoch, said, close } = await watched(cluster.url)
  await redis.set('{sy:0}:key', 'kept')
  const owner = async () => Number(/tcp_port:(\d+)/.exec(await redis.info('server'))![1])
  const first = await owner()
  const before = await epoch.durabilityToken()
  await redis.wait(1, 1_000)
  await cluster.members.find(({ port }) => port === first)!.kill()
  expect(await redis.get('{sy:0}:key')).toBe('kept')
  const second = await owner()
  expect(second).not.toBe(first)
  await expect.poll(() => said).toContain('reconnected')
  expect(await epoch.durabilityToken()).not.toBe(before)

  await cluster.moveSlot('{sy:0}:key', second)
  expect(await redis.get('{sy:0}:key')).toBe('kept')
  expect(await owner()).not.toBe(second)
  close()
})

test('a client finds a slot that moved for longer than its commands wait, however often it asks meanwhile', async () => {
  const redis = createRedis({ url: cluster.url, name: 'test', mode: 'fail-fast' })
  await redis.set('{sy:0}:moved', 'kept')
  const owner = Number(/tcp_port:(\d+)/.exec(await redis.info('server'))![1])
  let isMoving = true
  let failures = 0
  const moving = cluster.moveSlot('{sy:0}:moved', owner, 1_500).finally(() => {
    isMoving = false
  })
  while (isMoving) {
    await redis.get('{sy:0}:moved').catch(() => failures++)
    await new Promise(setImmediate)
  }
  await moving
  expect(failures).toBeGreaterThan(0)
  await expect.poll(() => redis.get('{sy:0}:moved').catch(() => null)).toBe('kept')
  redis.disconnect()
})
