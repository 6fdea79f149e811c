import { createAccountStore } from '../../src/accounts/account-store.ts'
import type { NewKey } from '../../src/accounts/key-store.ts'
import { createOperatorStore } from '../../src/accounts/operators/operator-store.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import type { OperatorRole } from '../../src/core/accounts/operator-permissions.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { newCallId, newId } from '../../src/core/kernel/ids.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import { createPostgres, type Postgres } from '../../src/platform/postgres/postgres.ts'
import { createTestDatabase } from './services.ts'

export interface TestLedger {
  postgres: Postgres
  url: string
  close(): Promise<void>
}

/** A fresh migrated database and a client of it. */
export async function openTestLedger(): Promise<TestLedger> {
  const database = await createTestDatabase()
  const postgres = createPostgres({ databaseUrl: database.url, name: 'test', poolSize: 6 })
  return {
    postgres,
    url: database.url,
    async close() {
      await postgres.$disconnect()
      await database.drop()
    },
  }
}

let accounts = 0

/** An account with this balance; returns its id. */
export async function openTestAccount(postgres: Postgres, balancePico: bigint): Promise<string> {
  accounts += 1
  const store = createAccountStore(postgres, postLedger)
  const email = `account-${accounts}-${process.pid}@example.test`
  const { id } = await store.create(email, { kind: 'credit', amountPico: picoUsd(balancePico) })
  return id
}

/** The settings of a key without a name and without limits of its own. */
export const PLAIN_KEY: NewKey = {
  name: '',
  limitPico: null,
  limitReset: 'none',
  expiresAt: null,
  requestsPerMinute: null,
  concurrentCalls: null,
}

/** An operator with a role; returns its id. */
export async function openTestOperator(postgres: Postgres, role: OperatorRole = 'admin'): Promise<string> {
  const operator = { id: newId('op'), name: `Test ${role}`, email: null, role }
  await createOperatorStore(postgres).create(operator)
  return operator.id
}

/** A completed call of 10 and 20 tokens at rates 1 and 2 a token: it costs 50 pico-USD and held 100. */
export function settlementOf(accountId: string, changes: Partial<SettlementRecord> = {}): SettlementRecord {
  return {
    id: newCallId(),
    accountId,
    keyId: 'key_test',
    requestId: 'request-1',
    status: 'completed',
    errorCode: null,
    finishReason: 'stop',
    requestedModel: 'acme/large-1',
    stream: true,
    served: {
      offerId: 'acme/large-1',
      modelId: 'acme/large-1',
      rate: { prompt: '1', completion: '2' },
      rateVersion: 'v1',
      cost: { prompt: '1', completion: '1' },
    },
    usage: { promptTokens: 10, completionTokens: 20 },
    usageSource: 'upstream',
    usageClamped: false,
    chargePico: '50',
    holdPico: '100',
    attempts: [
      {
        offerId: 'acme/large-1',
        outcome: 'ok',
        httpStatus: 200,
        startedAt: 1_000,
        firstTokenMs: 5,
        durationMs: 9,
      },
    ],
    admittedAt: 999,
    claimedAt: 1_000,
    firstTokenAt: 1_005,
    finishedAt: 1_009,
    ...changes,
  }
}

/** A call that failed before anything was delivered: no charge. */
export const failedSettlementOf = (
  accountId: string,
  changes: Partial<SettlementRecord> = {},
): SettlementRecord =>
  settlementOf(accountId, {
    status: 'failed',
    errorCode: 'all_providers_failed',
    finishReason: null,
    served: null,
    usage: { promptTokens: 0, completionTokens: 0 },
    usageSource: 'none',
    chargePico: '0',
    firstTokenAt: null,
    ...changes,
  })

/** An API instance's record of a call that no worker served: its caller was told that it failed. */
export const unservedSettlementOf = (
  accountId: string,
  changes: Partial<SettlementRecord> = {},
): SettlementRecord =>
  failedSettlementOf(accountId, {
    errorCode: 'request_timeout',
    attempts: [],
    claimedAt: null,
    ...changes,
  })

/** The record of a hold that the sweep found: nobody was told of it. */
export function lostSettlementOf(
  accountId: string,
  changes: Partial<SettlementRecord> = {},
): SettlementRecord {
  const { id } = settlementOf(accountId, changes)
  return unservedSettlementOf(accountId, { errorCode: 'internal_error', id, requestId: id, ...changes })
}
