import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CheckedCatalog } from '../../src/catalog/catalog-check.ts'
import { type CatalogEdits, createCatalogEdits } from '../../src/catalog/catalog-edits-store.ts'
import { readOverlay, writeOverlay } from '../../src/catalog/catalog-overlay.ts'
import { readRateHistory, recordRates } from '../../src/catalog/rate-history-store.ts'
import type { Model } from '../../src/core/catalog/catalog.ts'
import { type CatalogManagement, createCatalogManagement } from '../../src/operators/catalog-management.ts'
import { createPostgres, type Postgres } from '../../src/platform/postgres/postgres.ts'
import { createRedis, type Redis } from '../../src/platform/redis/redis.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import {
  createTestDatabase,
  createTestRedis,
  type TestDatabase,
  type TestRedis,
} from '../helpers/services.ts'
import { exampleDocument } from './example-document.ts'

let database: TestDatabase
let redisServer: TestRedis
let postgres: Postgres
let redis: Redis
let edits: CatalogEdits
let management: CatalogManagement
let verdict: CheckedCatalog
const VALID = { kind: 'valid' as const, snapshot: builtCatalog([exampleDocument()]), unknown: [] }

beforeAll(async () => {
  ;[database, redisServer] = await Promise.all([createTestDatabase(), createTestRedis()])
  postgres = createPostgres({ databaseUrl: database.url, name: 'test' })
  redis = createRedis({ url: redisServer.url, name: 'test', mode: 'wait' })
  edits = createCatalogEdits(postgres, redis)
  management = createCatalogManagement(edits, (_operator, _action, work) => work(), { check: () => verdict })
})
beforeEach(() => {
  verdict = VALID
})
afterAll(async () => {
  redis.disconnect()
  await postgres.$disconnect()
  await redisServer.close()
  await database.drop()
})

const operator = { actor: 'tester', requestId: 'req_test' }
const applied = async (content: object, expectedVersion?: string) =>
  (await management.applyEdits(operator, content, expectedVersion)).document.version

describe("the operator's edits", () => {
  test('hold as the last version, in Redis too, and every version is kept', async () => {
    const first = await applied({ changes: {} })
    const second = await applied({ changes: { models: [] } })
    expect(await edits.current()).toMatchObject({
      version: second,
      author: 'tester',
      content: { changes: { models: [] } },
    })
    expect((await readOverlay(redis))!.stored).toMatchObject({
      id: second,
      content: { changes: { models: [] } },
    })
    expect((await edits.history(2)).map(({ version }) => version)).toEqual([second, first])
  })

  test('catalog edits with problems or unknown ids are rejected', async () => {
    const before = await edits.current()
    const refused = (problem: string) =>
      expect(applied({ models: [{}] })).rejects.toMatchObject({
        code: 'invalid_request',
        message: `The catalog would not be valid:\n${problem}`,
      })
    verdict = { kind: 'problems', problems: ['models[0].id: required'] }
    await refused('models[0].id: required')
    verdict = { ...VALID, unknown: ['there is no model'] }
    await refused('there is no model')
    expect(await edits.current()).toEqual(before)
  })

  test('made from another version than the last are a conflict', async () => {
    const first = await applied({ changes: {} })
    const second = await applied({ changes: {} })
    await expect(applied({}, first)).rejects.toMatchObject({
      code: 'conflict',
      details: { metadata: { current_version: second } },
    })
    expect(await applied({}, second)).toMatch(/^\d+$/)
  })

  test('go back to an earlier version as a new one', async () => {
    const first = await applied({ source: 'first' })
    await applied({ source: 'second' })
    const reverted = await management.revertEdits({ ...operator, actor: 'another' }, first)
    expect(reverted.document).toMatchObject({ content: { source: 'first' }, author: 'another' })
    for (const version of ['999999', 'x'])
      await expect(management.revertEdits(operator, version)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('stay beside what else the fleet shares', async () => {
    await writeOverlay(redis, { unlisted: ['p/m'] })
    const version = await applied({ source: 'more' })
    expect(await readOverlay(redis)).toMatchObject({ unlisted: ['p/m'], stored: { id: version } })
  })

  test.each(['catalog_documents', 'rate_versions'])('%s refuses to be changed', async (table) => {
    for (const statement of [`UPDATE ${table} SET id = id`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
      await expect(postgres.$executeRawUnsafe(statement)).rejects.toThrow(/append-only/)
    }
  })
})

describe('the history of rates', () => {
  const modelAt = (prompt: string): Model => {
    const document = exampleDocument()
    document.models[0]!.list_price.prompt = prompt
    return builtCatalog([document]).models.get('acme/large-1')!
  }

  test('has a row for every change, also for one back to an earlier rate, and none for what stays', async () => {
    for (const prompt of ['2', '2', '3', '2']) await recordRates(postgres, [modelAt(prompt)], 'test')
    const history = await readRateHistory(postgres, 'acme/large-1', 10)
    expect(history.map(({ prompt, listPrompt }) => [prompt, listPrompt])).toEqual([
      [1_900_000n, 2_000_000n],
      [2_850_000n, 3_000_000n],
      [1_900_000n, 2_000_000n],
    ])
    expect(history[0]!.rateVersion).toBe(history[2]!.rateVersion)
  })

  test('has one row where several processes see the same change', async () => {
    await Promise.all(Array.from({ length: 4 }, () => recordRates(postgres, [modelAt('9')], 'test')))
    const history = await readRateHistory(postgres, 'acme/large-1', 10)
    expect(history.filter(({ listPrompt }) => listPrompt === 9_000_000n)).toHaveLength(1)
  })
})
