import { ulid } from 'ulid'
import { beforeAll, expect, test } from 'vitest'
import { createProviderHours } from '../../src/billing/reports/provider-hours.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import type { CallId } from '../../src/core/kernel/ids.ts'
import { HOUR_MS } from '../../src/core/kernel/time.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const HOUR = Date.UTC(2027, 2, 1, 10)

let accountId: string

const ledger = testLedger()
beforeAll(async () => {
  accountId = await openTestAccount(ledger.postgres, 1_000_000_000n)
})

const attempt = (offerId: string, outcome: string, more = {}) => ({
  ...{ offerId, outcome, httpStatus: 200, startedAt: HOUR, firstTokenMs: 100, durationMs: 500, ...more },
})

function calls(count: number, changes: Partial<SettlementRecord>, atMs = HOUR): SettlementRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    ...settlementOf(accountId),
    requestedModel: 'acme/large',
    // Not of the factory of the process, whose ids never go back to before another test's.
    id: `chatcmpl_${ulid(atMs + index)}` as CallId,
    admittedAt: atMs + index,
    ...changes,
  }))
}

const settle = (records: SettlementRecord[]) => createSettlementStore(ledger.postgres).settle(records)

test('the sums of an hour of attempts are idempotent', async () => {
  const hours = createProviderHours(ledger.postgres)
  expect(await hours.nextHour(HOUR + HOUR_MS)).toBeNull()
  await settle([
    ...calls(4, { attempts: [attempt('alpha/large', 'server-error'), attempt('beta/large', 'ok')] }),
    ...calls(3, { attempts: [attempt('alpha/large', 'ok', { firstTokenMs: 300 })] }),
    // Neither what `auto` chose, nor a customer's own key, nor what is not the provider's fault.
    ...calls(5, { requestedModel: 'auto', attempts: [attempt('alpha/large', 'ok')] }),
    ...calls(5, { attempts: [attempt('alpha/large', 'refused', { providerKeyId: 'pkey_1' })] }),
    ...calls(5, { attempts: [attempt('alpha/large', 'rate-limited')] }),
    ...calls(2, { attempts: [attempt('alpha/large', 'ok')] }, HOUR + HOUR_MS),
  ])
  expect(await hours.nextHour(HOUR + 2 * HOUR_MS)).toBe(HOUR)
  for (let time = 0; time < 2; time++) await hours.roll(HOUR)
  const byProvider = async () =>
    (await hours.read(HOUR)).toSorted(
      (a, b) => a.providerId.localeCompare(b.providerId) || a.hourMs - b.hourMs,
    )
  expect(await byProvider()).toEqual([
    {
      providerId: 'alpha',
      hourMs: HOUR,
      succeeded: 3,
      failed: 4,
      firstTokenP50Ms: 300,
      firstTokenP95Ms: 300,
    },
    { providerId: 'beta', hourMs: HOUR, succeeded: 4, failed: 0, firstTokenP50Ms: 100, firstTokenP95Ms: 100 },
  ])
  await settle(calls(1, { attempts: [attempt('beta/large', 'stalled')] }, HOUR + 1_000))
  await hours.roll(HOUR)
  await hours.roll(HOUR + HOUR_MS)
  expect(await byProvider()).toMatchObject([
    { failed: 4 },
    { succeeded: 2, failed: 0 },
    { succeeded: 4, failed: 1 },
  ])
  expect(await hours.nextHour(HOUR + 5 * HOUR_MS)).toBe(HOUR + HOUR_MS)
  expect(await hours.read(HOUR, 'beta')).toMatchObject([{ providerId: 'beta', failed: 1 }])
})

test('latency is of calls that named their model, and of enough of them', async () => {
  const hours = createProviderHours(ledger.postgres)
  expect(await hours.latency(HOUR, HOUR + HOUR_MS, 4)).toEqual([{ id: 'beta', p50Ms: 100, p95Ms: 100 }])
  const [alpha] = await hours.latency(HOUR, HOUR + HOUR_MS, 3)
  expect(alpha).toMatchObject({ id: 'alpha', p50Ms: 300 })
})

test('hours are removed when they are too old', async () => {
  const hours = createProviderHours(ledger.postgres)
  await hours.prune(HOUR + HOUR_MS)
  expect((await hours.read(0)).map(({ hourMs }) => hourMs)).toEqual([HOUR + HOUR_MS])
})
