import type { Postgres } from '../../platform/postgres/postgres.ts'

/** The calls of an account that named the same conversation, summed. Amounts in pico-USD, times in unix milliseconds. */
export interface CallSession {
  session: string
  calls: number
  failedCalls: number
  promptTokens: number
  completionTokens: number
  /** Of the prompt tokens: read from a provider's prompt cache. */
  cachedTokens: number
  costPico: bigint
  firstAt: number
  lastAt: number
}

/** Recent calls of an account in which sessions are looked for. */
const RECENT_CALLS = 2_000
const SESSIONS_MAX = 20
/** Maximum calls of a session that are summed and listed. */
export const SESSION_CALLS_MAX = 500

/** The condition of the partial index `call_records_session_idx`. */
export const OF_SESSION = `account_id = $1 AND labels->>'session' = $2`

const SUMS = `count(*)::integer AS calls, (count(*) FILTER (WHERE status = 'failed'))::integer AS "failedCalls",
  coalesce(sum(prompt_tokens), 0)::double precision AS "promptTokens",
  coalesce(sum(completion_tokens), 0)::double precision AS "completionTokens",
  coalesce(sum(cached_tokens), 0)::double precision AS "cachedTokens",
  coalesce(sum(charge_pico), 0)::bigint AS "costPico",
  min(admitted_at_ms)::double precision AS "firstAt", max(finished_at_ms)::double precision AS "lastAt"`

const RECENT = `
WITH recent AS (
  SELECT labels->>'session' AS session, admitted_at_ms FROM call_records
  WHERE account_id = $1 AND admitted_at_ms >= $2::bigint ORDER BY admitted_at_ms DESC LIMIT ${RECENT_CALLS}
), latest AS (
  SELECT session, max(admitted_at_ms) AS at FROM recent WHERE session IS NOT NULL
  GROUP BY session ORDER BY at DESC LIMIT ${SESSIONS_MAX}
)
SELECT latest.session, sums.* FROM latest CROSS JOIN LATERAL (
  SELECT ${SUMS} FROM (
    SELECT * FROM call_records WHERE account_id = $1 AND labels->>'session' = latest.session
    ORDER BY admitted_at_ms DESC LIMIT ${SESSION_CALLS_MAX}
  ) AS call
) AS sums ORDER BY latest.at DESC`

/** The sessions of an account's latest calls since a time, the latest first; at most twenty. */
export const readRecentSessions = (
  postgres: Postgres,
  accountId: string,
  sinceMs: number,
): Promise<CallSession[]> => postgres.$queryRawUnsafe(RECENT, accountId, BigInt(sinceMs))
