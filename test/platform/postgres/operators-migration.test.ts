import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { applyMigrations } from '../../../src/platform/postgres/migrate.ts'
import { createTestDatabase } from '../../helpers/services.ts'

const MIGRATION = '20260203150000_operators'
const MIGRATIONS = 'prisma/migrations'

const KEYS = `
INSERT INTO accounts (id, email, state) VALUES ('acct_1', 'a@x.test', 'active');
INSERT INTO api_keys (id, account_id, kind, hash, prefix, suffix, name, state, revoked_at) VALUES
  ('key_1', NULL, 'admin', '\\x01', 'a', 'b', '', 'active', NULL),
  ('key_2', NULL, 'admin', '\\x02', 'a', 'b', 'deploy', 'revoked', now()),
  ('key_3', NULL, 'admin', '\\x03', 'a', 'b', 'deploy', 'active', NULL),
  ('key_4', NULL, 'admin', '\\x04', 'a', 'b', 'leaver', 'revoked', now()),
  ('key_5', 'acct_1', 'standard', '\\x05', 'a', 'b', 'deploy', 'active', NULL);
INSERT INTO console_sessions (token_hash, key_id, expires_at) VALUES ('\\x01', 'key_1', now() + interval '1 hour')`

test('admin keys that exist become keys of admins, one a name, and stay as they are', async () => {
  const database = await createTestDatabase()
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-migrations-'))
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const apply = () => applyMigrations({ databaseUrl: database.url, directory })
  try {
    await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    const earlier = readdirSync(MIGRATIONS).filter((name) => name < MIGRATION)
    for (const name of earlier) cpSync(join(MIGRATIONS, name), join(directory, name), { recursive: true })
    await apply()
    await client.query(KEYS)
    cpSync(join(MIGRATIONS, MIGRATION), join(directory, MIGRATION), { recursive: true })
    expect(await apply()).toEqual([MIGRATION])

    const operators = await client.query('SELECT id, name, email, role, state FROM operators ORDER BY id')
    expect(operators.rows).toEqual([
      { id: 'op_1', name: 'Admin', email: null, role: 'admin', state: 'active' },
      { id: 'op_2', name: 'deploy', email: null, role: 'admin', state: 'active' },
      { id: 'op_4', name: 'leaver', email: null, role: 'admin', state: 'disabled' },
    ])
    const keys = await client.query('SELECT id, operator_id, state FROM api_keys ORDER BY id')
    expect(keys.rows).toEqual([
      { id: 'key_1', operator_id: 'op_1', state: 'active' },
      { id: 'key_2', operator_id: 'op_2', state: 'revoked' },
      { id: 'key_3', operator_id: 'op_2', state: 'active' },
      { id: 'key_4', operator_id: 'op_4', state: 'revoked' },
      { id: 'key_5', operator_id: null, state: 'active' },
    ])
    expect((await client.query('SELECT key_id, operator_id FROM console_sessions')).rows).toEqual([
      { key_id: 'key_1', operator_id: null },
    ])
  } finally {
    await client.end()
    rmSync(directory, { recursive: true, force: true })
    await database.drop()
  }
})
