import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  createPostgres,
  isDuplicate,
  isPostgresFailure,
  isRefusedData,
  type Postgres,
} from '../../../src/platform/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/services.ts'
import { startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'

let database: TestDatabase
let proxy: TcpProxy
let postgres: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startTcpProxy(database.url)
  // One connection: whatever keeps it keeps everybody out.
  postgres = createPostgres({ databaseUrl: proxy.url, name: 'test', poolSize: 1, statementTimeoutMs: 1_000 })
})
afterEach(() => proxy.restore())
afterAll(async () => {
  await postgres.$disconnect()
  await proxy.close()
  await database.drop()
})

const ONE = 'SELECT 1 AS one'

describe('a PostgreSQL that is gone without a word', () => {
  test('fails a statement, and the next one goes over another connection', async () => {
    await postgres.$queryRawUnsafe(ONE)
    proxy.swallow()
    await expect(postgres.$queryRawUnsafe(ONE)).rejects.toThrow()
    proxy.restore()
    expect(await postgres.$queryRawUnsafe(ONE)).toEqual([{ one: 1 }])
  })

  test('fails a plain statement, and the next one goes over another connection', async () => {
    await postgres.plain.query(ONE, [])
    proxy.swallow()
    await expect(postgres.plain.query(ONE, [])).rejects.toThrow()
    proxy.restore()
    expect(await postgres.plain.query(ONE, [])).toEqual([{ one: 1 }])
  })

  test('fails a transaction, and its connection is not used again', async () => {
    const begun = postgres.$transaction(async (transaction) => {
      await transaction.$queryRawUnsafe(ONE)
      proxy.swallow()
      await transaction.$queryRawUnsafe(ONE)
    })
    await expect(begun).rejects.toThrow()
    proxy.restore()
    expect(await postgres.$queryRawUnsafe(ONE)).toEqual([{ one: 1 }])
  })
})

test('a database error of a plain statement is reported like that of any other', async () => {
  await postgres.plain.query('CREATE TABLE refusing (id int PRIMARY KEY)', [])
  const insert = 'INSERT INTO refusing VALUES (1)'
  await postgres.plain.query(insert, [])
  for (const again of [postgres.plain.query(insert, []), postgres.$executeRawUnsafe(insert)]) {
    const error: unknown = await again.catch((refused: unknown) => refused)
    expect({
      isDuplicate: isDuplicate(error),
      isRefusedData: isRefusedData(error),
      isPostgresFailure: isPostgresFailure(error),
    }).toEqual({ isDuplicate: true, isRefusedData: true, isPostgresFailure: false })
  }
})
