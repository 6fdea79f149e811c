import { expect, test } from 'vitest'
import { openConnections } from '../../src/platform/connections.ts'
import { createPostgres } from '../../src/platform/postgres/postgres.ts'
import { createTestDatabase } from '../helpers/services.ts'

const NO_REDIS = 'redis://127.0.0.1:1'

const CONNECTED = `
SELECT application_name FROM pg_stat_activity
WHERE datname = current_database() AND application_name <> 'watcher' ORDER BY 1`

test('what was used is closed, and what was not is no hindrance', async () => {
  const database = await createTestDatabase()
  const watcher = createPostgres({ databaseUrl: database.url, name: 'watcher' })
  const connected = () => watcher.plain.query(CONNECTED, [])
  const connections = openConnections({ redisUrl: NO_REDIS, databaseUrl: database.url })
  expect(await connections.postgres('models').account.count()).toBe(0)
  await connections.postgres('plain').plain.query('SELECT 1', [])
  connections.postgres('unused')
  expect(await connected()).toEqual([{ application_name: 'models' }, { application_name: 'plain' }])
  await connections.close()
  await expect.poll(connected, { timeout: 5_000 }).toEqual([])
  await watcher.$disconnect()
  await database.drop()
})
