import { callIdRange } from '../../core/kernel/ids.ts'
import { DAY_MS, HOUR_MS } from '../../core/kernel/time.ts'
import { withCustomPlans } from '../../platform/postgres/custom-plans.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { LATEST, NOT_ITS_FAULT } from './model-stats-store.ts'

/** How long hours are kept. */
export const HOURS_KEPT_MS = 91 * DAY_MS

/** Results of the attempts at a provider in an hour. */
export interface ProviderHour {
  providerId: string
  hourMs: number
  succeeded: number
  failed: number
  /** Time to first token of successful attempts; null: none had one. */
  firstTokenP50Ms: number | null
  firstTokenP95Ms: number | null
}

/** Time to first token, at one provider. */
export interface ProviderLatency {
  id: string
  p50Ms: number
  p95Ms: number
}

const ATTEMPTS = `
SELECT split_part(attempt->>'offerId', '/', 1) AS provider_id, attempt->>'outcome' AS outcome,
       (attempt->>'firstTokenMs')::double precision AS first_token
FROM latest CROSS JOIN LATERAL jsonb_array_elements(attempts) AS attempt
WHERE NOT attempt ? 'providerKeyId' AND attempt->>'outcome' <> ALL ($5::text[])`

/** Counts the same attempts as the statistics of models: see model-stats-store.ts. */
const ROLL = `
WITH ${LATEST}, tried AS (${ATTEMPTS})
INSERT INTO provider_hours AS known
  (provider_id, hour, succeeded, failed, first_token_p50_ms, first_token_p95_ms)
SELECT provider_id, to_timestamp($3::bigint / 1000.0), count(*) FILTER (WHERE outcome = 'ok'),
       count(*) FILTER (WHERE outcome <> 'ok'),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token) FILTER (WHERE outcome = 'ok'),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY first_token) FILTER (WHERE outcome = 'ok')
FROM tried GROUP BY provider_id
ON CONFLICT (provider_id, hour) DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed,
  first_token_p50_ms = excluded.first_token_p50_ms, first_token_p95_ms = excluded.first_token_p95_ms`

const LATENCY = `
WITH ${LATEST}, tried AS (${ATTEMPTS})
SELECT provider_id AS id, percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token) AS "p50Ms",
       percentile_cont(0.95) WITHIN GROUP (ORDER BY first_token) AS "p95Ms"
FROM tried WHERE outcome = 'ok' AND first_token IS NOT NULL
GROUP BY provider_id HAVING count(*) >= $6::integer`

const FIRST_CALL = 'SELECT admitted_at_ms AS "atMs" FROM call_records WHERE id >= $1 ORDER BY id LIMIT 1'

export type ProviderHours = ReturnType<typeof createProviderHours>

/** Hourly statistics of providers, computed from call records once, since those of 90 days are too many to read. */
export function createProviderHours(postgres: Postgres) {
  const spanOf = (fromMs: number, toMs: number) => {
    const ids = callIdRange({ fromMs, toMs })
    return [ids.from, ids.to, BigInt(fromMs), BigInt(toMs), NOT_ITS_FAULT] as const
  }
  return {
    /** The next hour to compute: the last one computed, or that of the first call. Null without calls. */
    async nextHour(nowMs: number): Promise<number | null> {
      const last = await postgres.providerHour.aggregate({ _max: { hour: true } })
      if (last._max.hour) return last._max.hour.getTime()
      const { from } = callIdRange({ fromMs: nowMs - HOURS_KEPT_MS, toMs: nowMs })
      const [first] = await postgres.$queryRawUnsafe<Array<{ atMs: bigint }>>(FIRST_CALL, from)
      return first ? Math.floor(Number(first.atMs) / HOUR_MS) * HOUR_MS : null
    },

    /** Computes an hour from its calls. Repeatable, because calls may be settled after it ended. */
    async roll(hourMs: number): Promise<void> {
      await withCustomPlans(postgres, (transaction) =>
        transaction.$executeRawUnsafe(ROLL, ...spanOf(hourMs, hourMs + HOUR_MS)),
      )
    },

    /** Of one provider or all, from a time on. */
    async read(fromMs: number, providerId?: string): Promise<ProviderHour[]> {
      const ofProvider = providerId === undefined ? {} : { providerId }
      const rows = await postgres.providerHour.findMany({
        where: { ...ofProvider, hour: { gte: new Date(fromMs) } },
      })
      return rows.map(({ hour, ...row }) => ({ ...row, hourMs: hour.getTime() }))
    },

    /** Latencies of calls in a period; providers with fewer than `callsMin` are omitted. */
    latency: (fromMs: number, toMs: number, callsMin: number): Promise<ProviderLatency[]> =>
      withCustomPlans(postgres, (transaction) =>
        transaction.$queryRawUnsafe<ProviderLatency[]>(LATENCY, ...spanOf(fromMs, toMs), callsMin),
      ),

    async prune(beforeMs: number): Promise<void> {
      await postgres.providerHour.deleteMany({ where: { hour: { lt: new Date(beforeMs) } } })
    },
  }
}

/** Calls are settled after they were admitted: so many hours are summed up again. */
const REPEATED_HOURS = 1

/** Sums up how providers did, by the hour, up to the present one. Any number of processes may do so at once. */
export function createProviderHoursRollup(hours: ProviderHours, clock: () => number) {
  let nextMs: number | null = null
  return async (stopping: AbortSignal): Promise<void> => {
    nextMs ??= await hours.nextHour(clock())
    if (nextMs === null) return
    for (let hourMs = nextMs - REPEATED_HOURS * HOUR_MS; hourMs <= clock(); hourMs += HOUR_MS) {
      if (stopping.aborted) return
      await hours.roll(hourMs)
      nextMs = hourMs
    }
    await hours.prune(clock() - HOURS_KEPT_MS)
  }
}
