import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuditRunStore } from '../../../src/billing/audit/audit-run-store.ts'
import { createAuditSchedule, restAfter } from '../../../src/billing/audit/audit-schedule.ts'
import { AuditBusyError, withAuditTurn } from '../../../src/billing/audit/audit-turn.ts'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { runOnOneProcess } from '../../../src/platform/redis/fleet-job.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { AUDIT_JOB } from '../../../src/platform/redis/redis-keys.ts'
import { openTestLedger, type TestLedger } from '../../helpers/billing.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let ledger: TestLedger
let server: TestRedis
let redis: Redis
beforeAll(async () => {
  ;[ledger, server] = await Promise.all([openTestLedger(), createTestRedis()])
  redis = createRedis({ url: server.url, name: 'test', mode: 'wait' })
})
afterAll(async () => {
  await redis.quit()
  await Promise.all([ledger.close(), server.close()])
})

test('a slow audit rests three times as long as it took, in every process and whether it failed or not', async () => {
  const runs = createAuditRunStore(ledger.postgres)
  let nowMs = Date.now()
  let audits = 0
  let looks = 0
  const audit = async () => {
    audits += 1
    nowMs += HOUR_MS
    throw new Error('the audit was cut off')
  }
  const latest = () => {
    looks += 1
    return runs.latest()
  }
  /** A process whose audit would be due, but for the rest after another's. */
  const startLate = () => {
    const options = { redis, audit, runs: { ...runs, latest }, everyMs: 15 * MINUTE_MS }
    const schedule = createAuditSchedule({
      ...options,
      logger: pino({ level: 'silent' }),
      clock: () => nowMs,
    })
    const onFailure = (error: unknown) => expect.unreachable(String(error))
    const job = runOnOneProcess({ redis, name: AUDIT_JOB, everyMs: 1_000, ...schedule, onFailure })
    nowMs += 16 * MINUTE_MS
    return job
  }
  const first = startLate()
  await eventually(() => expect(audits).toBe(1))
  await first.stop()

  looks = 0
  const second = startLate()
  await eventually(() => expect(looks).toBe(1))
  await second.stop()
  expect(audits).toBe(1)

  nowMs += 3 * HOUR_MS
  const third = startLate()
  await eventually(() => expect(audits).toBe(2))
  await third.stop()
})

test('a short audit keeps its interval, and one that keeps failing is repeated ever later', () => {
  const everyMs = 15 * MINUTE_MS
  const rest = (failures: number, durationMs = 1_000, every = everyMs) =>
    restAfter({ failures, durationMs }, every)
  expect(rest(0, MINUTE_MS)).toBe(everyMs)
  expect(rest(0, HOUR_MS)).toBe(3 * HOUR_MS)
  expect([1, 2, 3, 6].map((failures) => rest(failures))).toEqual([1, 2, 4, 32].map((n) => n * MINUTE_MS))
  expect([20, 1_000, 5_000].map((failures) => rest(failures))).toEqual(Array(3).fill(6 * HOUR_MS))
  expect(rest(1, 1_000, 10_000)).toBe(10_000)
})

test('an audit waits for one that runs, and gives up in time; none begins twice at once', async () => {
  const { postgres } = ledger
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const running = withAuditTurn(postgres, 0, async (turn) => {
    begin()
    await over
    return turn.step(async (_, { isEstablished }) => isEstablished)
  })
  await began
  await expect(auditLedger(postgres, { waitMs: 0 })).rejects.toThrow(AuditBusyError)
  const waiting = auditLedger(postgres)
  end()
  await running
  await expect(waiting).resolves.toMatchObject({ isFull: true })
})

test('an audit that another process has taken over cannot advance what is proven', async () => {
  const { postgres } = ledger
  await expect(
    withAuditTurn(postgres, 0, async (turn) => {
      await postgres.$executeRaw`UPDATE audit_point SET held_until = now()`
      await auditLedger(postgres)
      await turn.step(async () => undefined)
    }),
  ).rejects.toThrow('another process has taken over')
})
