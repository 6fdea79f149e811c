import { AUTO_MODEL } from '../../core/auto/routing-profiles.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { callIdRange } from '../../core/kernel/ids.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { withCustomPlans } from '../../platform/postgres/custom-plans.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'

/** Medians and shares need at least this many calls; fewer say little, and reveal too much about single customers. */
export const CALLS_MIN = 10
/** If the period has more calls, only the latest count. */
const CALLS_MAX = 100_000
const SPAN_DAYS = 7
const FRESH_MS = 300_000
/** Maximum wait for the first reading; pages show prices meanwhile. */
const FIRST_WAIT_MS = 1_000
/** Pause after a failed reading. */
const RETRY_MS = 10_000

/** Medians over some calls; null if there were too few. */
export interface SpeedStats {
  firstTokenMs: number | null
  /** Completion tokens, from the first to the last. */
  tokensPerSecond: number | null
}

export interface ModelStats extends SpeedStats {
  calls: number
}

export interface ReportedOfferStats extends SpeedStats {
  /** Share of successful attempts among those that succeeded or failed because of the provider; 0 to 1. */
  uptime: number | null
}

/** Of one UTC day. */
export interface ModelDay extends SpeedStats {
  /** Days since 1970-01-01. */
  day: number
}

export interface OfferStatsDay {
  day: number
  /** Attempts that succeeded or failed because of the provider. */
  attempts: number
  succeeded: number
}

/**
 * Statistics of models and offers from recent calls. Only calls that named their model count: with those of `auto`,
 * changes would reveal which model `auto` chose.
 */
export interface CallStats {
  range: TimeRange
  /** By model id. */
  models: ReadonlyMap<string, ModelStats>
  /** By offer id; only attempts with platform keys. */
  offers: ReadonlyMap<string, ReportedOfferStats>
  /** By model id, oldest first; days without calls are absent. */
  modelDays: ReadonlyMap<string, readonly ModelDay[]>
  /** By offer id, oldest first; only attempts with platform keys. */
  offerDays: ReadonlyMap<string, readonly OfferStatsDay[]>
}

/** Failures that are not the provider's: of the request, of our deadline, of rate limits, and cancelled attempts. */
export const NOT_ITS_FAULT = [
  'bad-request',
  'call-timeout',
  'cancelled',
  'content-policy',
  'context-length',
  'key-unavailable',
  'prefill-refused',
  'rate-limited',
  'rescue-mismatch',
]

export const LATEST = `
latest AS (
  SELECT * FROM call_records
  WHERE id >= $1 AND id < $2 AND admitted_at_ms >= $3::bigint AND admitted_at_ms < $4::bigint
    AND split_part(requested_model, ':', 1) <> '${AUTO_MODEL}' AND auto_score IS NULL
  ORDER BY id DESC LIMIT ${CALLS_MAX}
)`

/** As `tokensPerSecond` in src/core/routing/measures.ts: completions that are too short to measure are excluded. */
const speedSql = (tokens: string, streamedMs: string) =>
  `CASE WHEN ${tokens} >= 8 AND ${streamedMs} >= 10 THEN (${tokens} - 1) * 1000.0 / ${streamedMs} END`

const DAY = `(admitted_at_ms / ${DAY_MS})::integer AS day`

/** One row for all days, whose day is null, and one for each. */
const BY_DAY = 'GROUP BY GROUPING SETS ((id), (id, day)) ORDER BY day'

const MODELS = `
WITH ${LATEST}, served AS (
  SELECT served_model_id AS id, ${DAY},
         CASE WHEN first_token_at_ms IS NOT NULL THEN greatest(0, first_token_at_ms - admitted_at_ms) END AS first_token,
         ${speedSql('completion_tokens', '(finished_at_ms - first_token_at_ms)')} AS speed
  FROM latest WHERE served_model_id IS NOT NULL
)
SELECT id, day, count(*)::integer AS "calls",
       CASE WHEN count(first_token) >= ${CALLS_MIN}
            THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token) END AS "firstTokenMs",
       CASE WHEN count(speed) >= ${CALLS_MIN}
            THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY speed::double precision) END AS "tokensPerSecond"
FROM served ${BY_DAY}`

const OFFERS = `
WITH ${LATEST}, tried AS (
  SELECT attempt->>'offerId' AS id, ${DAY}, attempt->>'outcome' AS outcome,
         (attempt->>'firstTokenMs')::double precision AS first_token,
         (attempt->>'durationMs')::double precision AS duration,
         CASE WHEN attempt->>'offerId' = served_offer_id AND NOT attempt ? 'rescued' THEN completion_tokens END AS tokens
  FROM latest CROSS JOIN LATERAL jsonb_array_elements(attempts) AS attempt
  WHERE NOT attempt ? 'providerKeyId' AND attempt->>'outcome' <> ALL ($5::text[])
), measured AS (
  SELECT id, day, outcome, CASE WHEN outcome = 'ok' THEN first_token END AS first_token,
         CASE WHEN outcome = 'ok' THEN ${speedSql('tokens', '(duration - first_token)')} END AS speed
  FROM tried
)
SELECT id, day, count(*)::integer AS "attempts", count(*) FILTER (WHERE outcome = 'ok')::integer AS "succeeded",
       CASE WHEN count(first_token) >= ${CALLS_MIN}
            THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token) END AS "firstTokenMs",
       CASE WHEN count(speed) >= ${CALLS_MIN}
            THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY speed) END AS "tokensPerSecond",
       CASE WHEN count(*) >= ${CALLS_MIN}
            THEN count(*) FILTER (WHERE outcome = 'ok')::double precision / count(*) END AS "uptime"
FROM measured ${BY_DAY}`

/** Statistics of models and their offers, computed at most every five minutes by each instance. */
export type ModelStatsStore = ReturnType<typeof createModelStatsStore>

export function createModelStatsStore(options: {
  postgres: Postgres
  clock: () => number
  logger: Pick<Logger, 'warn'>
}) {
  const { postgres, clock, logger } = options
  let known: CallStats | null = null
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null

  const read = async (): Promise<CallStats> => {
    const toMs = clock()
    const range = { fromMs: toMs - SPAN_DAYS * DAY_MS, toMs }
    const ids = callIdRange(range)
    const span = [ids.from, ids.to, BigInt(range.fromMs), BigInt(range.toMs)]
    return withCustomPlans(postgres, async (transaction) => {
      const models = await transaction.$queryRawUnsafe<Array<Row<ModelStats>>>(MODELS, ...span)
      const offers = await transaction.$queryRawUnsafe<
        Array<Row<ReportedOfferStats & Omit<OfferStatsDay, 'day'>>>
      >(OFFERS, ...span, NOT_ITS_FAULT)
      return {
        range,
        models: ofAllDays(models),
        offers: ofAllDays(offers),
        modelDays: byDay(models),
        offerDays: byDay(offers),
      }
    })
  }
  const refresh = async () => {
    try {
      known = await read()
      readAt = clock()
    } catch (error) {
      readAt = clock() - FRESH_MS + RETRY_MS
      logger.warn({ err: error }, 'model statistics read failed')
    } finally {
      reading = null
    }
  }
  return {
    /**
     * The latest statistics. Waits briefly for the first ones only; later ones are read in the background and the known
     * ones are returned. Null while none are known or PostgreSQL is away.
     */
    async stats(): Promise<CallStats | null> {
      if (clock() - readAt >= FRESH_MS) reading ??= refresh()
      if (known === null && reading) await withTimeout(reading, FIRST_WAIT_MS, undefined)
      return known
    },
  }
}

type Row<Stats> = Stats & { id: string; day: number | null }

const ofAllDays = <Stats extends object>(rows: ReadonlyArray<Row<Stats>>): ReadonlyMap<string, Stats> =>
  new Map(rows.filter(({ day }) => day === null).map((row) => [row.id, row]))

const byDay = <Stats extends object>(rows: ReadonlyArray<Row<Stats>>) =>
  Map.groupBy(
    rows.filter((row): row is Row<Stats> & { day: number } => row.day !== null),
    ({ id }) => id,
  )
