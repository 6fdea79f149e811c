import { Counter, Histogram, type Registry } from 'prom-client'
import type { SettlementRecord } from '../../core/calls/call-job.ts'
import type { WorkCounts } from '../../platform/observability/traffic-counts.ts'

/** Counts a call that ended here, for Prometheus and for operators. In memory only. */
type CallMetrics = (record: SettlementRecord) => void

/** From no wait to the maximum wait allowed by default in each lane. */
const WAIT_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 60, 300, 600,
]

export function createCallMetrics(registry: Registry, report: WorkCounts): CallMetrics {
  const calls = new Counter({
    name: 'shuntyard_calls_total',
    help: 'Calls that ended at this worker.',
    labelNames: ['status', 'error_code'],
    registers: [registry],
  })
  const queueWait = new Histogram({
    name: 'shuntyard_call_queue_wait_seconds',
    help: 'From the admission of a call to its claim by a worker, by lane of the queue.',
    labelNames: ['lane'],
    buckets: WAIT_BUCKETS_SECONDS,
    registers: [registry],
  })
  return ({ status, errorCode, admittedAt, claimedAt, usage, chargePico, lane = 'default' }) => {
    calls.inc({ status, error_code: errorCode ?? 'none' })
    if (claimedAt !== null) queueWait.observe({ lane }, Math.max(0, claimedAt - admittedAt) / 1000)
    report.finished(status)
    report.traffic.add([
      [`calls:${status}`, 1n],
      ['prompt_tokens', BigInt(usage.promptTokens)],
      ['completion_tokens', BigInt(usage.completionTokens)],
      ['spend_pico', BigInt(chargePico)],
    ])
  }
}
