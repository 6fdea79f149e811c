import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyMigrations } from '../../../src/platform/postgres/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/services.ts'

let database: TestDatabase
let directory: string
beforeEach(async () => {
  database = await createTestDatabase()
  directory = mkdtempSync(join(tmpdir(), 'shuntyard-migrations-'))
})
afterEach(async () => {
  rmSync(directory, { recursive: true, force: true })
  await database.drop()
})

function write(name: string, sql: string): void {
  mkdirSync(join(directory, name), { recursive: true })
  writeFileSync(join(directory, name, 'migration.sql'), sql)
}

const apply = () => applyMigrations({ databaseUrl: database.url, directory })

async function query(sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}

test('are applied once, in the order of their names', async () => {
  write('2_second', 'INSERT INTO things VALUES (2)')
  write('1_first', 'CREATE TABLE things (n int); INSERT INTO things VALUES (1)')
  expect(await apply()).toEqual(['1_first', '2_second'])
  expect(await apply()).toEqual([])
  expect(await query('SELECT n FROM things ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }])
})

test('are applied once when several processes start together', async () => {
  write('1_first', 'CREATE TABLE things (n int)')
  const results = await Promise.all([apply(), apply(), apply()])
  expect(results.flat()).toEqual(['1_first'])
})

test('leave nothing behind when a statement fails, and can be tried again', async () => {
  write('1_first', 'CREATE TABLE things (n int); SELECT broken')
  await expect(apply()).rejects.toThrow(/1_first failed/)
  write('1_first', 'CREATE TABLE things (n int)')
  expect(await apply()).toEqual(['1_first'])
})

test('are refused when one was changed after it was applied', async () => {
  write('1_first', 'CREATE TABLE things (n int)')
  await apply()
  write('1_first', 'CREATE TABLE things (n bigint)')
  await expect(apply()).rejects.toThrow(/1_first was changed/)
})
