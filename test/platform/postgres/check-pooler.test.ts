import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CheckedConnection, checkPooler } from '../../../src/platform/postgres/check-pooler.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/services.ts'

/** A connection to a server process that others may be given as well; it prepares a name once, as drivers do. */
function connectionTo(statements: Map<string, string>, isWithout = false): CheckedConnection {
  const prepared = new Set<string>()
  return {
    connect: async () => undefined,
    async query({ name, text }) {
      const refuse = (code: string) => Promise.reject(Object.assign(new Error(code), { code }))
      if (prepared.has(name)) return isWithout ? refuse('26000') : undefined
      if (statements.has(name)) return refuse('42P05')
      statements.set(name, text)
      prepared.add(name)
      if (isWithout) statements.delete(name)
      return undefined
    },
    end: async () => undefined,
  }
}

describe('named statements', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database?.drop())

  test('are fine at PostgreSQL itself', () => checkPooler(database.url))

  test('are refused where clients share a server connection', async () => {
    const shared = new Map<string, string>()
    await expect(checkPooler('', () => connectionTo(shared))).rejects.toThrow(/pooler/)
  })

  test('are refused where they are gone by the next use', async () => {
    await expect(checkPooler('', () => connectionTo(new Map(), true))).rejects.toThrow(/pooler/)
  })

  test('are not judged while the database is away', () =>
    checkPooler('postgresql://user:password@127.0.0.1:1/none'))
})
