import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureDemoAccount } from '../../../tools/launcher/start/demo-account.ts'
import { welcome } from '../../../tools/launcher/start/welcome.ts'
import {
  createTestDatabase,
  createTestRedis,
  type TestDatabase,
  type TestRedis,
} from '../../helpers/services.ts'
import { ofRunner } from '../../helpers/stack-part.ts'

const root = resolve(import.meta.dirname, '../../..')
const dataDir = mkdtempSync(join(tmpdir(), 'shuntyard-demo-'))
let database: TestDatabase
let redis: TestRedis

beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), createTestRedis()])
})
afterAll(async () => {
  await redis?.close()
  await database?.drop()
  rmSync(dataDir, { recursive: true })
})

/** What `npm start` prints once everything runs. */
async function printed(): Promise<string> {
  const environment = {
    ...ofRunner(),
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const keys = await ensureDemoAccount({ root, dataDir, environment, externalDatabaseUrl: null })
  const baseUrl = 'http://127.0.0.1:8080'
  return welcome({ baseUrl, keys, metricsUrls: [], logsFolder: 'logs', providers: 'simulated', mail: 'sent' })
}

test('the admin key is printed by the first start alone, the API key and a call with it by every one', async () => {
  const first = await printed()
  const path = join(dataDir, 'demo.json')
  const { apiKey, adminKey } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>
  expect(statSync(path).mode & 0o077).toBe(0)
  expect(adminKey).toMatch(/^\S{20,}$/)
  expect(first).toContain(`admin key      ${adminKey}\n`)

  const second = await printed()
  expect(second).not.toContain(adminKey)
  expect(second).toContain(`admin key      in ${path}; npm run admin -- admin-key create makes another`)
  for (const text of [first, second]) {
    expect(text).toContain(`API key        ${apiKey}\n`)
    expect(text).toContain(`-H 'Authorization: Bearer ${apiKey}'`)
  }
})
