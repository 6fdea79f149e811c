import { createHistogram } from 'node:perf_hooks'
import { tickEvery } from '../process/coalesced-timers.ts'

const HOUR_NS = 3_600_000_000_000
const WHILE_IDLE_MS = 1_000
const WHILE_BUSY_MS = 50
/** The utilization from which an event loop counts as busy. */
const BUSY = 0.05

export type LoopDelay = ReturnType<typeof recordLoopDelay>

/**
 * Records the delay of timers in ns, which shows how long the event loop is blocked. Samples 20 times a second while
 * the process is busy and once while it is idle, since each sample wakes it. Node's monitor always samples at the full
 * rate.
 */
export function recordLoopDelay() {
  const histogram = createHistogram({ lowest: 1, highest: HOUR_NS, figures: 2 })
  let before = performance.eventLoopUtilization()
  const everyMs = () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization < BUSY ? WHILE_IDLE_MS : WHILE_BUSY_MS
  }
  const stop = tickEvery(everyMs, (lateMs) => histogram.record(Math.max(1, Math.round(lateMs * 1e6))))
  return { histogram, stop }
}
