import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccountStore } from '../../../src/accounts/account-store.ts'
import { type KeyRecord, plainKey } from '../../../src/accounts/key-cache.ts'
import { createGroupLimit } from '../../../src/billing/holds/group-limits.ts'
import { createHoldStore, type HoldStore } from '../../../src/billing/holds/hold-store.ts'
import { postLedger } from '../../../src/billing/ledger/ledger-store.ts'
import { createSpendStore } from '../../../src/billing/reports/spend-store.ts'
import {
  createSettlementStore,
  type SettlementStore,
} from '../../../src/billing/settlement/settlement-store.ts'
import {
  ADMISSION_WAIT_MS,
  type AdmissionDependencies,
  admitCall,
} from '../../../src/calls/api/admit-call.ts'
import { createBalanceLoaders } from '../../../src/calls/api/balance-loaders.ts'
import { createCleanupTasks } from '../../../src/calls/cleanup-tasks.ts'
import { readConfig } from '../../../src/config.ts'
import { chooseAutoModels } from '../../../src/core/auto/auto-routing.ts'
import type { LimitReset } from '../../../src/core/billing/allowance-period.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { type CallId, newCallId, newId } from '../../../src/core/kernel/ids.ts'
import { UNKNOWN_OFFER_STATE } from '../../../src/core/routing/offer-preferences.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { openTestAccount, openTestLedger, settlementOf, type TestLedger } from '../../helpers/billing.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'
import { catalogDocument } from '../../helpers/test-catalog.ts'

const REQUEST = parseChatRequest({
  model: 'test/plain',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Go.' }],
})

let ledger: TestLedger
let server: TestRedis
let redis: Redis
let holds: HoldStore
let settlements: SettlementStore
let deps: AdmissionDependencies
let nowMs = 0

beforeAll(async () => {
  ledger = await openTestLedger()
  server = await createTestRedis()
  redis = createRedis({ url: server.url, name: 'test', mode: 'fail-fast' })
  holds = createHoldStore(redis)
  settlements = createSettlementStore(ledger.postgres)
  const config = readConfig({
    DATABASE_URL: ledger.url,
    REDIS_URL: server.url,
    MASTER_KEY: Buffer.alloc(32).toString('base64'),
  })
  const content = catalogDocument({ 'test/plain': [{ at: 'alpha', model: 'words-12' }] }, 'http://127.0.0.1')
  const built = buildCatalogSnapshot([{ name: 'test', content, updatedAt: 0 }], {
    ...config,
    generatedAt: 0,
    isUsable: () => true,
  })
  if (built.kind === 'problems') throw new Error(built.problems.join())
  const accounts = createAccountStore(ledger.postgres, postLedger)
  deps = {
    catalog: () => built.snapshot,
    admit: holds.admit,
    ...createBalanceLoaders(
      accounts,
      createSpendStore(ledger.postgres),
      createGroupLimit(ledger.postgres),
      holds,
      {
        resynced: async () => 'epoch',
        charges: async () => new Map(),
      },
    ),
    releaseHold: holds.release,
    sealBody: () => null,
    hub: { expect: () => undefined, forget: () => undefined, untilReceiving: async () => undefined },
    undoAdmission: async () => undefined,
    noteLimitReached: () => undefined,
    cleanup: createCleanupTasks(pino({ level: 'silent' })),
    limits: config,
    replyChannel: 'test',
    offerStates: () => () => UNKNOWN_OFFER_STATE,
    chooseAutoModels,
    epoch: () => 'epoch',
    durabilityToken: () => 'token',
    topUpUrl: 'http://127.0.0.1/billing',
    clock: () => nowMs,
    random: () => 0.5,
  }
})
afterAll(async () => {
  redis.disconnect()
  await server.close()
  await ledger.close()
})

type Key = KeyRecord & { accountId: string }

const BALANCE = 10n ** 12n

async function limitedKey(limitReset: LimitReset, limitPico: bigint): Promise<Key> {
  const accountId = await openTestAccount(ledger.postgres, BALANCE)
  return { ...plainKey(accountId, newId('key')), limitPico, limitReset }
}

/** Asks for a call now; its id and what it holds, or the code it is refused with. */
async function ask(key: Key, callId: CallId = newCallId()) {
  try {
    const caller = { key, requestId: 'r', bodyBytes: 0 }
    const { envelope } = await admitCall(REQUEST, caller, { callId, idempotencyRecord: null }, deps)
    return { kind: 'admitted' as const, callId, holdPico: BigInt(envelope.holdPico), admittedAt: nowMs }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { kind: 'refused' as const, code: error.code }
  }
}

async function admitted(key: Key) {
  const call = await ask(key)
  if (call.kind === 'refused') throw new Error(`refused: ${call.code}`)
  return call
}

/** Settles an admitted call at what it held, in the ledger and at the balance cache. */
async function settle(key: Key, { callId, holdPico, admittedAt }: Awaited<ReturnType<typeof admitted>>) {
  const { accounts } = await settlements.settle([
    settlementOf(key.accountId, {
      id: callId,
      keyId: key.keyId,
      chargePico: String(holdPico),
      holdPico: String(holdPico),
      admittedAt,
    }),
  ])
  for (const { released, ...ledger } of accounts) await holds.apply(key.accountId, ledger, released)
}

const REFUSED = { kind: 'refused', code: 'key_limit_exceeded' }

/** What one call holds: prompt and limit at the test models' rates. */
async function holdOf(): Promise<bigint> {
  nowMs = Date.UTC(2040, 0, 1)
  return (await admitted(await limitedKey('none', BALANCE))).holdPico
}

describe('the spending limit of a key', () => {
  test('a spending limit resets with its period, and not a moment before', async () => {
    const [last, first] = [Date.UTC(2040, 1, 29, 23, 59, 59, 999), Date.UTC(2040, 2, 1)]
    const hold = await holdOf()
    const key = await limitedKey('monthly', hold * 2n)
    nowMs = last - 3_600_000
    await settle(key, await admitted(key))
    await settle(key, await admitted(key))
    expect(await ask(key)).toEqual(REFUSED)
    nowMs = last
    expect(await ask(key)).toEqual(REFUSED)
    nowMs = first
    expect((await ask(key)).kind).toBe('admitted')
    expect((await ask(key)).kind).toBe('admitted')
    expect(await ask(key)).toEqual(REFUSED)
  })

  test('a spending limit without a period never resets', async () => {
    const hold = await holdOf()
    const key = await limitedKey('none', hold)
    await settle(key, await admitted(key))
    nowMs = Date.UTC(2090, 0, 1)
    expect(await ask(key)).toEqual(REFUSED)
  })

  test('a spending limit of zero refuses every call that has a price', async () => {
    nowMs = Date.UTC(2040, 0, 1)
    expect(await ask(await limitedKey('none', 0n))).toEqual(REFUSED)
  })
})

test.each([
  ['a short body', { bodyBytes: 16 * 1024 }, true],
  ['a long body, which a refused call shall not send to Redis', { bodyBytes: 16 * 1024 + 1 }, false],
  ['an Idempotency-Key, which is to be confirmed first', { idempotencyRecord: 'digest' }, false],
])('is enqueued with its admission, or not: a call with %s', async (_, more, isEnqueued) => {
  const { bodyBytes, idempotencyRecord } = { bodyBytes: 0, idempotencyRecord: null, ...more }
  const caller = { key: await limitedKey('none', BALANCE), requestId: 'r', bodyBytes }
  const known = { callId: newCallId(), idempotencyRecord }
  const call = await admitCall(REQUEST, caller, known, { ...deps, sealBody: () => 'sealed' })
  expect(call.isEnqueued).toBe(isEnqueued)
})

describe('a Redis whose clock is a minute ahead, as after a fail-over', () => {
  test('refuses no call that was asked for just now, and takes one hold of it', async () => {
    const key = await limitedKey('none', BALANCE)
    nowMs = Date.now() - 60_000
    const { holdPico } = await admitted(key)
    expect(await holds.balance(key.accountId)).toMatchObject({ heldPico: holdPico })
  })

  test('refuses one that Redis kept waiting, as it would without', async () => {
    const key = await limitedKey('none', BALANCE)
    nowMs = Date.now() - 60_000
    const { admit } = deps
    deps.admit = (request) => {
      nowMs += ADMISSION_WAIT_MS
      return admit(request)
    }
    expect(await ask(key)).toEqual({ kind: 'refused', code: 'overloaded' })
    deps.admit = admit
  })
})
