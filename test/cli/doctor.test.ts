import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { doctor as doctorCommand } from '../../src/cli/doctor.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'
import { catalogDocument } from '../helpers/test-catalog.ts'

interface Report {
  ok: boolean
  wrong: number
  findings: Array<{ check: string; level: string; found: string; costs?: string; mend?: string }>
}

const ledger = testLedger()
const server = testRedis()
/** A provider that lists its models to one key only. */
const provider = createServer(({ headers }, response) => {
  response.statusCode = headers.authorization === 'Bearer right' ? 200 : 401
  response.end('{"data":[]}')
})
let environment: Record<string, string>
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-doctor-'))
  await new Promise<void>((ready) => provider.listen(0, '127.0.0.1', ready))
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const models = { 'test/one': [{ at: 'alpha', model: 'words-12' }] }
  const catalogFile = join(folder, 'catalog.json')
  await writeFile(catalogFile, JSON.stringify(catalogDocument(models, url, { alpha: 'ALPHA_KEY' })))
  environment = {
    ...{ DATABASE_URL: ledger.url, REDIS_URL: server.url, MASTER_KEY: '11'.repeat(32) },
    ...{ CATALOG_FILE: catalogFile, ALPHA_KEY: 'right', DATA_DIR: folder, PORT: '0', METRICS_PORT: '0' },
  }
})
afterAll(async () => {
  provider.close()
  await rm(folder, { recursive: true, force: true })
})

async function doctor(more: Record<string, string> = {}) {
  const { code, out } = await runCommand(doctorCommand, ['--json'], { ...environment, ...more })
  const report = JSON.parse(out) as Report
  return { code, report, wrong: report.findings.filter(({ level }) => level === 'wrong') }
}

test('finds nothing wrong with services that are in order, and exits with 0', async () => {
  const { code, report, wrong } = await doctor()
  expect(wrong).toEqual([])
  expect(code).toBe(0)
  expect(report.findings).toContainEqual({
    ...{ check: 'provider keys', level: 'ok' },
    found: 'the key of alpha (ALPHA_KEY) is accepted; npm run catalog -- check alpha tries its features',
  })
  expect([...new Set(report.findings.map(({ check }) => check))]).toEqual([
    ...['runtime', 'memory', 'disk'],
    ...['redis settings', 'redis server', 'redis rights', 'redis clock'],
    ...['postgresql settings', 'postgresql migrations', 'postgresql partitions', 'postgresql clock'],
    ...[
      'postgresql replica',
      'mail',
      'payments',
      'provider keys',
      'public address',
      'certificate',
      'proxies',
    ],
  ])
})

test('names an eviction policy, a pending migration, a refused key and a proxy network that is too large', async () => {
  const redis = server.connect()
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const [last] = await ledger.postgres.$queryRawUnsafe<Array<{ name: string }>>(
    `DELETE FROM "_prisma_migrations" WHERE migration_name = (SELECT max(migration_name) FROM "_prisma_migrations")
     RETURNING migration_name AS name`,
  )
  const { code, wrong } = await doctor({ ALPHA_KEY: 'other', TRUSTED_PROXIES: '0.0.0.0/0' })
  expect(code).toBe(1)
  expect(wrong).toEqual([
    expect.objectContaining({
      check: 'redis settings',
      mend: expect.stringContaining('CONFIG SET maxmemory-policy noeviction'),
    }),
    expect.objectContaining({
      check: 'postgresql migrations',
      found: `1 migrations are pending, from ${last?.name}`,
      mend: 'npm run migrate',
    }),
    expect.objectContaining({
      check: 'provider keys',
      found: 'the key of alpha (ALPHA_KEY) is refused: unauthorized',
    }),
    expect.objectContaining({ check: 'proxies', costs: expect.stringContaining('limits') }),
  ])
})

test('reports what keeps the processes from starting, and services that are away', async () => {
  const settings = await doctor({ PORT: 'many' })
  expect(settings).toMatchObject({
    code: 1,
    wrong: [{ check: 'settings', found: expect.stringMatching(/^PORT must/) }],
  })
  await server.kill()
  const { code, wrong } = await doctor()
  await server.restart()
  expect(code).toBe(1)
  expect(wrong.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['redis settings', 'redis server', 'redis rights', 'redis clock']),
  )
})
