import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type CompletionArchive,
  createCompletionArchive,
  createIdempotency,
  type Idempotency,
  type KeyUse,
  keyUse,
} from '../../../src/calls/protocol/idempotency.ts'
import type { CallEnvelope } from '../../../src/core/calls/call-job.ts'
import { type CallId, newCallId } from '../../../src/core/kernel/ids.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { idempotencyKeys } from '../../../src/platform/redis/redis-keys.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'
import { startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'

const TWO_DAYS_MS = 172_800_000
const ACCOUNT = 'acct_1'

let server: TestRedis
let proxy: TcpProxy
let redis: Redis
let idempotency: Idempotency
let archive: CompletionArchive
/** What PostgreSQL knows, and how often it was asked. */
let settled: Map<string, CallId>
let lookups: number

beforeAll(async () => {
  server = await createTestRedis()
  proxy = await startTcpProxy(server.url)
  redis = createRedis({ url: proxy.url, name: 'test', mode: 'fail-fast' })
  archive = createCompletionArchive(
    redis,
    { seal: (text) => text, open: (box) => box },
    { perAnswer: 1_000, perAccount: 10_000, inAll: 10_000 },
  )
})
afterAll(async () => {
  redis.disconnect()
  await proxy.close()
  await server.close()
})
beforeEach(async () => {
  settled = new Map()
  lookups = 0
  await redis.flushall()
  // Records are kept for long enough to know of every key that was used within a day.
  await redis.set(idempotencyKeys(0).since, Date.now() - TWO_DAYS_MS)
  idempotency = createIdempotency({
    redis,
    findSettled: async (_accountId, digest) => {
      lookups += 1
      return settled.get(digest) ?? null
    },
    logger: pino({ level: 'silent' }),
    records: { perAccount: 3, inAll: 100 },
  })
})

const use = (key = 'k', body: unknown = {}): KeyUse => keyUse(ACCOUNT, key, body, newCallId())
const envelopeOf = ({ callId, digest }: KeyUse): CallEnvelope => ({
  id: callId,
  accountId: ACCOUNT,
  keyId: 'key_1',
  requestId: 'r',
  requestedModel: 'auto',
  stream: true,
  replyChannel: 'c',
  candidates: [],
  idempotencyRecord: digest,
  holdPico: '0',
  admittedAt: 0,
  queueDeadlineAt: 15_000,
  callDeadlineAt: 600_000,
})
const lapse = ({ accountId, digest }: KeyUse) => redis.del(idempotencyKeys(0).record(accountId, digest))

describe('the claim of an Idempotency-Key', () => {
  test('whose answer was lost is the same claim when it is sent again', async () => {
    const first = use()
    await idempotency.claim(use('warm-up'))
    proxy.loseNextAnswer()
    expect(await idempotency.claim(first)).toBeNull()
    expect(await idempotency.claim(use())).toMatchObject({ callId: first.callId, envelope: null })
  })

  test('whose confirmation was lost is confirmed when that is sent again', async () => {
    const first = use()
    await idempotency.claim(first)
    await idempotency.confirm({ ...first, callId: first.callId }, envelopeOf(first))
    expect(await idempotency.confirm(first, envelopeOf(first))).toBeNull()
    expect(await idempotency.claim(use())).toMatchObject({ callId: first.callId, hasEnded: false })
  })

  test('that lapsed is not confirmed once another call has the key, and leaves that alone', async () => {
    const [slow, retry] = [use(), use()]
    await idempotency.claim(slow)
    await lapse(slow)
    expect(await idempotency.claim(retry)).toBeNull()
    expect(await idempotency.confirm(slow, envelopeOf(slow))).toMatchObject({ callId: retry.callId })
    await archive.forget({ id: slow.callId, accountId: ACCOUNT, idempotencyRecord: slow.digest })
    expect(await idempotency.confirm(retry, envelopeOf(retry))).toBeNull()
    expect(await idempotency.find(ACCOUNT, retry.digest)).toMatchObject({
      callId: retry.callId,
      envelope: { id: retry.callId },
    })
  })

  test('a lapsed claim of an Idempotency-Key is confirmed while the key is free', async () => {
    const slow = use()
    await idempotency.claim(slow)
    await lapse(slow)
    expect(await idempotency.confirm(slow, envelopeOf(slow))).toBeNull()
    expect(await idempotency.claim(use())).toMatchObject({ callId: slow.callId })
  })

  test('that lapsed to a request with another body is a conflict', async () => {
    const slow = use()
    await idempotency.claim(slow)
    await lapse(slow)
    await idempotency.claim(use('k', { other: true }))
    await expect(idempotency.confirm(slow, envelopeOf(slow))).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })

  test('does not ask PostgreSQL while Redis knows every key of the last day', async () => {
    expect(await idempotency.claim(use())).toBeNull()
    expect(lookups).toBe(0)
  })

  test('asks PostgreSQL in a Redis that is young, and finds a call that was settled before', async () => {
    await redis.flushall()
    const repeat = use()
    settled.set(repeat.digest, 'chatcmpl_before' as CallId)
    const known = { callId: 'chatcmpl_before', envelope: null, hasEnded: true }
    expect(await idempotency.claim(repeat)).toEqual(known)
    expect(await idempotency.claim(use())).toEqual(known)
    expect(lookups).toBe(1)
  })

  test('is taken although PostgreSQL cannot be asked', async () => {
    await redis.flushall()
    const unsure = createIdempotency({
      redis,
      findSettled: () => Promise.reject(new Error('away')),
      logger: pino({ level: 'silent' }),
    })
    expect(await unsure.claim(use())).toBeNull()
  })

  test('asks PostgreSQL where records of its account had to make room for newer ones', async () => {
    const uses = ['a', 'b', 'c', 'd'].map((key) => use(key))
    for (const one of uses) {
      await idempotency.claim(one)
      await idempotency.confirm(one, envelopeOf(one))
    }
    expect(lookups).toBe(0)
    const found = await Promise.all(uses.map(({ digest }) => idempotency.find(ACCOUNT, digest)))
    const dropped = uses.filter((_, index) => found[index] === null)
    expect(dropped).toHaveLength(1)
    for (const { digest, callId } of dropped) settled.set(digest, callId)
    for (const { callId, ...one } of [...uses.filter((one) => one !== dropped[0]), dropped[0]!]) {
      const hasEnded = callId === dropped[0]!.callId
      expect(await idempotency.claim({ ...one, callId: newCallId() })).toMatchObject({ callId, hasEnded })
    }
    expect(lookups).toBe(1)
  })
})
