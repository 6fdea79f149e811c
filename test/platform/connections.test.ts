import { expect, test } from 'vitest'
import { openConnections } from '../../src/platform/connections.ts'
import { createTestDatabase } from '../helpers/services.ts'

const NO_REDIS = 'redis://127.0.0.1:1'

test('what was used is closed, and what was not is no hindrance', async () => {
  const database = await createTestDatabase()
  const connections = openConnections({ redisUrl: NO_REDIS, databaseUrl: database.url })
  const used = connections.postgres('used')
  connections.postgres('unused')
  expect(await used.account.count()).toBe(0)
  expect(
    await used.plain.query(
      'SELECT application_name FROM pg_stat_activity WHERE datname = current_database()',
      [],
    ),
  ).toEqual([{ application_name: 'used' }])
  await connections.close()
  await expect(used.plain.query('SELECT 1', [])).rejects.toThrow('after calling end')
  await database.drop()
})
