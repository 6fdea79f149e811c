import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createCallMetrics } from '../../../src/calls/worker/call-metrics.ts'
import { addCounts, type TrafficCounts } from '../../../src/platform/observability/traffic-counts.ts'
import { failedSettlementOf, settlementOf } from '../../helpers/billing.ts'

test('a call that ended is counted once in each of its figures', async () => {
  const registry = new Registry()
  const finished: string[] = []
  const traffic: TrafficCounts = new Map()
  const count = createCallMetrics(registry, {
    finished: (outcome) => void finished.push(outcome),
    traffic: { add: (counts) => addCounts(traffic, counts) },
  })
  const usage = { promptTokens: 10, completionTokens: 20 }
  count(settlementOf('acct_1', { usage, admittedAt: 1_000, claimedAt: 3_000 }))
  count(settlementOf('acct_1', { usage, admittedAt: 1_000, claimedAt: 1_000 }))
  count(settlementOf('acct_1', { usage, admittedAt: 1_000, claimedAt: 201_000, lane: 'flex' }))
  count(failedSettlementOf('acct_1', { claimedAt: null }))

  expect(finished).toEqual(['completed', 'completed', 'completed', 'failed'])
  expect(Object.fromEntries(traffic)).toEqual({
    'calls:completed': 3n,
    'calls:failed': 1n,
    prompt_tokens: 30n,
    completion_tokens: 60n,
    spend_pico: 150n,
  })
  const metrics = await registry.metrics()
  expect(metrics).toContain('shuntyard_calls_total{status="completed",error_code="none"} 3')
  expect(metrics).toContain('shuntyard_calls_total{status="failed",error_code="all_providers_failed"} 1')
  // One that nobody claimed did not wait for its claim.
  expect(metrics).toContain('shuntyard_call_queue_wait_seconds_count{lane="default"} 2')
  expect(metrics).toContain('shuntyard_call_queue_wait_seconds_sum{lane="default"} 2')
  expect(metrics).toContain('shuntyard_call_queue_wait_seconds_sum{lane="flex"} 200')
})
