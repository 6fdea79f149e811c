import type { LiveView } from '../../core/api/operations.ts'
import { trafficSlots } from '../../core/operations/traffic.ts'
import { readProcesses } from '../../platform/observability/process-report.ts'
import { readTraffic } from '../../platform/observability/traffic.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import { isSettlementBehind, readQueues } from '../../platform/queues/queue-figures.ts'
import type { OperatorServices } from './operator-services.ts'
import { liveTraffic } from './traffic-view.ts'

/** What cannot be read within this is null in the message. */
const TIMEOUT_MS = 900
const WINDOW_MS = 10_000
/** By then every process has reported a second. */
const REPORTED_AFTER_MS = 2_000

/** The message of one moment. Never rejects: what cannot be read is null. */
export async function liveView(services: OperatorServices): Promise<LiveView> {
  const { redis, queues, alarms, breakers, clock } = services
  const now = clock()
  const toMs = Math.floor((now - REPORTED_AFTER_MS) / 1000) * 1000
  const fromMs = toMs - WINDOW_MS
  const [processes, figures, traffic, openAlarms] = await Promise.all([
    orNull(readProcesses(redis)),
    orNull(readQueues(redis, queues, now)),
    orNull(readTraffic(redis, fromMs, toMs)),
    orNull(alarms.countOpen()),
  ])
  const [slot] = traffic ? trafficSlots(traffic, { fromMs, toMs, stepMs: WINDOW_MS }) : []
  return {
    object: 'live',
    at: new Date(now).toISOString(),
    processes,
    queues: figures,
    settlement_behind: figures && isSettlementBehind(figures),
    traffic: slot ? liveTraffic(slot, WINDOW_MS) : null,
    open_alarms: openAlarms,
    breakers: breakers(),
  }
}

/** A reading that fails is null here; a route of its own reports the error. */
const orNull = <T>(reading: Promise<T>): Promise<T | null> => withTimeout<T | null>(reading, TIMEOUT_MS, null)
