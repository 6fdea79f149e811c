import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CatalogEdits, createCatalogEdits } from '../../src/catalog/catalog-edits-store.ts'
import { readOverlay, writeOverlay } from '../../src/catalog/catalog-overlay.ts'
import { readRateHistory, recordRates } from '../../src/catalog/rate-history-store.ts'
import type { Model } from '../../src/core/catalog/catalog.ts'
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
let verdict: { problems: string[]; unknown: string[] }

beforeAll(async () => {
  ;[database, redisServer] = await Promise.all([createTestDatabase(), createTestRedis()])
  postgres = createPostgres({ databaseUrl: database.url, name: 'test' })
  redis = createRedis({ url: redisServer.url, name: 'test', mode: 'wait' })
  edits = createCatalogEdits({
    postgres,
    redis,
    check: () =>
      verdict.problems.length > 0
        ? { kind: 'problems', problems: verdict.problems }
        : { kind: 'valid', models: 1, unknown: verdict.unknown },
  })
})
beforeEach(() => {
  verdict = { problems: [], unknown: [] }
})
afterAll(async () => {
  redis.disconnect()
  await postgres.$disconnect()
  await redisServer.close()
  await database.drop()
})

const applied = async (content: object) => {
  const result = await edits.apply(content, 'tester')
  if (result.kind !== 'applied') throw new Error(JSON.stringify(result))
  return result.document.version
}

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

  test('are not accepted with problems, nor when they name what nobody has', async () => {
    const before = await edits.current()
    verdict.problems = ['models[0].id: required']
    expect(await edits.apply({ models: [{}] }, 'tester')).toEqual({
      kind: 'problems',
      problems: verdict.problems,
    })
    verdict = { problems: [], unknown: ['there is no model'] }
    expect(await edits.apply({}, 'tester')).toEqual({ kind: 'problems', problems: ['there is no model'] })
    expect(await edits.current()).toEqual(before)
  })

  test('made from another version than the last are a conflict', async () => {
    const first = await applied({ changes: {} })
    const second = await applied({ changes: {} })
    expect(await edits.apply({}, 'tester', first)).toEqual({ kind: 'conflict', current: second })
    expect((await edits.apply({}, 'tester', second)).kind).toBe('applied')
  })

  test('go back to an earlier version as a new one', async () => {
    const first = await applied({ source: 'first' })
    await applied({ source: 'second' })
    const reverted = await edits.revert(first, 'another')
    expect(reverted).toMatchObject({
      kind: 'applied',
      document: { content: { source: 'first' }, author: 'another' },
    })
    expect(await edits.revert('999999', 'tester')).toBeNull()
    expect(await edits.revert('x', 'tester')).toBeNull()
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
