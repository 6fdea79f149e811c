import { Client } from 'pg'
import { expect, test } from 'vitest'
import { createRedis } from '../../src/platform/redis/redis.ts'
import { createTestDatabase, createTestRedis } from '../helpers/services.ts'

test('gives every test a migrated database of its own', async () => {
  const [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()])
  const client = new Client({ connectionString: first.url })
  await client.connect()
  const { rows } = await client.query('SELECT count(*)::int AS migrations FROM "_prisma_migrations"')
  await client.end()
  await Promise.all([first.drop(), second.drop()])
  expect(first.url).not.toBe(second.url)
  expect(rows[0].migrations).toBeGreaterThan(0)
})

test('gives every test a Redis that refuses eviction', async () => {
  const redis = await createTestRedis()
  const client = createRedis({ url: redis.url, name: 'test', mode: 'wait' })
  const policy = await client.config('GET', 'maxmemory-policy')
  await client.quit()
  await redis.close()
  expect(policy).toContain('noeviction')
})

test('keeps what a killed Redis had acknowledged', async () => {
  const redis = await createTestRedis({ durable: true })
  const client = createRedis({ url: redis.url, name: 'test', mode: 'wait' })
  await client.set('kept', 'yes')
  await redis.kill()
  await redis.restart()
  const value = await client.get('kept')
  await client.quit()
  await redis.close()
  expect(value).toBe('yes')
})
