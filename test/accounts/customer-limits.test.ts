import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore, type KeyStore } from '../../src/accounts/key-store.ts'
import { openTestAccount, openTestLedger, type TestLedger } from '../helpers/billing.ts'

const MIGRATION = new URL(
  '../../prisma/migrations/20260117090000_account_limits/migration.sql',
  import.meta.url,
)
const KEY = { name: '', limitPico: null, limitReset: 'none', expiresAt: null } as const

let ledger: TestLedger
let keys: KeyStore

beforeAll(async () => {
  ledger = await openTestLedger()
  keys = createKeyStore(ledger.postgres, createKeyHasher([randomBytes(32)]), randomBytes)
})
afterAll(() => ledger.close())

/** Moves figures of before, as the migration did. */
async function migrate(): Promise<void> {
  const sql = readFileSync(MIGRATION, 'utf8')
  for (const update of sql.slice(sql.indexOf('UPDATE')).split(';'))
    if (update.trim() !== '') await ledger.postgres.$executeRawUnsafe(update)
}

async function keyOf(accountId: string) {
  const { key } = await keys.create(accountId, { ...KEY, requestsPerMinute: 5_000, concurrentCalls: 9_000 })
  return key.id
}

const figures = async (keyId: string) => {
  const key = await keys.find(keyId)
  return [
    key?.requestsPerMinute,
    key?.concurrentCalls,
    key?.customerRequestsPerMinute,
    key?.customerConcurrentCalls,
  ]
}

describe('limits that were stored before the customer and the operator were told apart', () => {
  test('are the customer’s where the account can sign in, but for those that an operator set', async () => {
    const accountId = await openTestAccount(ledger.postgres, 1n)
    await ledger.postgres.accountCredential.create({ data: { accountId, passwordHash: 'x' } })
    const [made, granted] = [await keyOf(accountId), await keyOf(accountId)]
    await ledger.postgres.operatorAction.create({
      data: {
        id: 'action_1',
        actor: 'key_admin',
        action: 'key.limits',
        target: granted,
        outcome: 'asked',
        details: { requests_per_minute: 5_000 },
        requestId: 'request_1',
      },
    })
    await migrate()
    expect(await figures(made)).toEqual([null, null, 5_000, 9_000])
    expect(await figures(granted)).toEqual([5_000, null, null, 9_000])
  })

  test('are the operator’s where nobody else can have made the key', async () => {
    const made = await keyOf(await openTestAccount(ledger.postgres, 1n))
    await migrate()
    expect(await figures(made)).toEqual([5_000, 9_000, null, null])
  })
})
