import { HOUR_MS, HOURS_KEPT_MS, type ProviderHours } from '../src/billing/reports/provider-hours.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'

const EVERY_MS = 300_000
const FIRST_AFTER_MS = 10_000
/** Calls are settled later than they were admitted: so many hours are summed up again. */
const REPEATED_HOURS = 1

/** Sums up how providers did, by the hour, up to the present one. Any number of processes may. Returns how to stop. */
export function startProviderHoursScheduler(options: {
  hours: ProviderHours
  logger: Logger
  clock: () => number
}): () => Promise<void> {
  const { hours, logger, clock } = options
  const stopping = new AbortController()
  let nextMs: number | null = null
  const stopPolling = pollEvery(
    EVERY_MS,
    async () => {
      nextMs ??= await hours.nextHour(clock())
      if (nextMs === null) return
      for (let hourMs = nextMs - REPEATED_HOURS * HOUR_MS; hourMs <= clock(); hourMs += HOUR_MS) {
        if (stopping.signal.aborted) return
        await hours.roll(hourMs)
        nextMs = hourMs
      }
      await hours.prune(clock() - HOURS_KEPT_MS)
    },
    (error) => logger.warn({ err: error }, 'how providers did could not be summed up'),
    { firstAfterMs: FIRST_AFTER_MS },
  )
  return () => {
    stopping.abort()
    return stopPolling()
  }
}
