import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readConfig, SETTINGS } from '../src/config.ts'
import {
  COMPOSE_FILE,
  SETTINGS_PAGE,
  VALUES_SCHEMA,
  valuesSchema,
  withSettingsPassedOn,
  withSettingsTable,
} from '../tools/settings-table.ts'

const REQUIRED = {
  DATABASE_URL: 'postgresql://user:secret@localhost:5432/gateway',
  REDIS_URL: 'redis://:secret@localhost:6379',
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
}
const problem = (changed: Record<string, string | undefined>): string => {
  try {
    readConfig({ ...REQUIRED, ...changed })
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

describe('settings', () => {
  test.each<[string, Record<string, string>]>([
    ['as they are required', {}],
    ['a master key in hex', { MASTER_KEY: 'ab'.repeat(32) }],
    ['Redis over TLS', { REDIS_URL: 'rediss://user:a,b@redis.example:6380/2' }],
    ['Redis over a socket', { REDIS_URL: 'unix:///run/redis.sock' }],
    ['an IPv6 Redis', { REDIS_URL: 'redis://[::1]:6379' }],
    ['PostgreSQL over TLS', { DATABASE_URL: 'postgres://h/d?sslmode=require&pgbouncer=false' }],
    ['fewer log lines', { LOG_LEVEL: 'warn' }],
  ])('are taken: %s', (_, changed) => expect(problem(changed)).toBe(''))

  test.each<[string, Record<string, string | undefined>, RegExp]>([
    ['no master key', { MASTER_KEY: undefined }, /^MASTER_KEY is required/],
    [
      'months of calls without a folder for the others',
      { CALL_RETENTION_MONTHS: '3' },
      /needs ARCHIVE_DIRECTORY$/,
    ],
    ['a short master key', { MASTER_KEY: 'short' }, /^MASTER_KEY has 3 bytes; it must have 32/],
    ['no database', { DATABASE_URL: '' }, /^DATABASE_URL is required$/],
    [
      'another database',
      { DATABASE_URL: 'mysql://h/d' },
      /^DATABASE_URL must be an address such as postgres/,
    ],
    [
      'a pooler that breaks named statements',
      { DATABASE_URL: 'postgresql://h:6432/d?pgbouncer=true' },
      /pgbouncer=true/,
    ],
    ['no Redis', { REDIS_URL: undefined }, /^REDIS_URL is required$/],
    ['no scheme', { REDIS_URL: 'localhost:6379' }, /^REDIS_URL must be an address such as redis:/],
    [
      'a Sentinel without a name',
      { REDIS_URL: 'redis+sentinel://:secret@h:26379' },
      /^REDIS_URL needs the name/,
    ],
    ['another Sentinel', { REDIS_URL: 'rediss-sentinel://:secret@h:26379' }, /^REDIS_URL must be an address/],
    ['servers of no kind', { REDIS_URL: 'redis://:secret@a:7000,b:7001,c:7002' }, /names several servers/],
    [
      'a list of addresses',
      { REDIS_URL: 'redis://:secret@a:7000,redis://b' },
      /^REDIS_SHARDS must be 2 or more: REDIS_URL names 2 servers$/,
    ],
    ['a shard that is none', { WORKER_SHARDS: '0,1' }, /^WORKER_SHARDS takes numbers from 0 to 0/],
    ['an unknown log level', { LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of fatal, error/],
    ['a fraction', { ATTEMPTS_PER_CALL: '1.5' }, /^ATTEMPTS_PER_CALL must be an integer from 1 to 16$/],
    ['a word for a flag', { SIGN_UP_CLOSED: 'yes' }, /^SIGN_UP_CLOSED must be true or false$/],
    ['a price', { LOW_BALANCE_USD: '1$' }, /^LOW_BALANCE_USD must be an amount of USD such as 0.50$/],
  ])('are refused in one line that keeps secrets: %s', (_, changed, message) => {
    expect(problem(changed)).toMatch(message)
    expect(problem(changed)).not.toMatch(/\n|secret/)
  })

  test('are refused with all that is wrong, a line each', () => {
    const lines = problem({ MASTER_KEY: 'short', PORT: '-1', LOG_LEVEL: 'loud' }).trim().split('\n')
    expect(lines.map((line) => line.trim().split(' ')[0])).toEqual(['MASTER_KEY', 'PORT', 'LOG_LEVEL'])
  })
})

test('settings are read as their schemas say, and have their defaults where they are empty', () => {
  const given = { PORT: '0', SIGN_UP_CLOSED: 'true', PRICE_FILES: ' a.json, ,b.json', PUBLIC_URL: '' }
  expect(readConfig({ ...REQUIRED, ...given })).toMatchObject({
    port: 0,
    signUpClosed: true,
    priceFiles: ['a.json', 'b.json'],
    publicUrl: null,
    catalogFile: null,
    concurrentCalls: 100,
    keptReplyBytesMax: 1_048_576,
  })
})

test('the table of settings in docs/operating.md is that of the schema (node tools/settings-table.ts writes it)', () => {
  const page = readFileSync(SETTINGS_PAGE, 'utf8')
  expect(page).toBe(withSettingsTable(page))
})

test('docker-compose.yml passes on every setting (node tools/settings-table.ts adds those it misses)', () => {
  const compose = readFileSync(COMPOSE_FILE, 'utf8')
  expect(compose).toBe(withSettingsPassedOn(compose))
  const without = compose.replace(/^ {2}SIGN_UP_CLOSED:.*\n/m, '')
  expect(without).not.toBe(compose)
  expect(withSettingsPassedOn(without)).toBe(compose)
})

test('the schema of the values of the Helm chart has every setting (node tools/settings-table.ts writes it)', () => {
  expect(readFileSync(VALUES_SCHEMA, 'utf8')).toBe(valuesSchema())
})

test('every variable that is read is in the table', () => {
  const read = new Set<string>()
  const environment = new Proxy(REQUIRED as Record<string, string | undefined>, {
    get(target, name) {
      read.add(String(name))
      return target[String(name)]
    },
  })
  readConfig(environment)
  const known = new Set(SETTINGS.map(({ variable }) => variable))
  expect([...read].filter((name) => !known.has(name) && name !== 'NODE_ENV')).toEqual([])
})
