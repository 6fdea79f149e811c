import { createHistogram } from 'node:perf_hooks'
import { tickEvery } from '../process/coalesced-timers.ts'

const HOUR_NS = 3_600_000_000_000
const WHILE_IDLE_MS = 1_000
const WHILE_BUSY_MS = 50
/** The part of its time from which on an event loop is busy. */
const BUSY = 0.05

export type LoopDelay = ReturnType<typeof recordLoopDelay>

/**
 * Records how late timers of this process fire, in ns: for how long its event loop is held up. Twenty times a second
 * while it is busy, and once while it is idle, since each time wakes it. Node's own monitor is as frequent always.
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
