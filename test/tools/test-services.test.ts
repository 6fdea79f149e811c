import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { createRedis } from '../../src/platform/redis/redis.ts'
import { makeThrowawayFolder } from '../../tools/launcher/services/throwaway-folder.ts'
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

test('removes what a killed run left behind, an hour later', async () => {
  const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(ended, 'exit')
  const first = await makeThrowawayFolder(null)
  const parent = dirname(first)
  const left = ['old', 'young'].map((age) => join(parent, `shuntyard-throwaway-${ended.pid}-${age}`))
  for (const folder of left) await mkdir(folder)
  const before = Date.now() / 1_000 - 3_700
  for (const folder of [first, left[0]!]) await utimes(folder, before, before)
  const second = await makeThrowawayFolder(null)
  const there = (await readdir(parent)).map((name) => join(parent, name))
  expect(there).not.toContain(left[0])
  expect(there).toEqual(expect.arrayContaining([first, left[1], second]))
  for (const folder of [first, left[1]!, second]) await rm(folder, { recursive: true })
})
