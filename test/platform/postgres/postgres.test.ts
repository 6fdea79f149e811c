import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createPostgres, type Postgres } from '../../../src/platform/postgres/postgres.ts'
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
