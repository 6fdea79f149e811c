import type { OfferDay } from '../../core/billing/provider-bill.ts'
import { callIdRange } from '../../core/kernel/ids.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { PROMPT_SUM_SQL } from '../settlement/settlement-statements.ts'

/**
 * Recorded usage of the offers of some providers, by the day of admission (UTC): the calls they served, and attempts
 * that a provider bills and that served no call. Excludes calls on BYOK keys, which their owner is billed for.
 */
const RECORDED = `
WITH admitted AS (
  SELECT *, to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM call_records
  WHERE id >= $1 AND id < $2 AND admitted_at_ms >= $3::bigint AND admitted_at_ms < $4::bigint
), parts AS (
  SELECT day, served_offer_id AS offer, prompt_tokens::numeric AS prompt, completion_tokens::numeric AS completion,
         coalesce(${PROMPT_SUM_SQL.cost}, 0)
           + completion_tokens * coalesce(completion_cost_pico, 0)::numeric AS cost
  FROM admitted WHERE served_offer_id IS NOT NULL AND NOT is_byok
  UNION ALL
  SELECT day, attempt->>'offerId', (attempt->'spent'->>'promptTokens')::numeric,
         (attempt->'spent'->>'completionTokens')::numeric, (attempt->'spent'->>'costPico')::numeric
  FROM admitted CROSS JOIN LATERAL jsonb_array_elements(attempts) AS attempt
  WHERE attempts @> '[{"spent": {}}]' AND attempt ? 'spent'
)
SELECT day, offer AS "offerId", sum(prompt)::text AS "promptTokens", sum(completion)::text AS "completionTokens",
       sum(cost)::text AS "costPico"
FROM parts WHERE split_part(offer, '/', 1) = ANY($5::text[]) AND day = ANY($6::text[]) GROUP BY day, offer`

type Row = Record<keyof OfferDay, string>

/** The recorded usage of some providers on some days, `YYYY-MM-DD`. */
export async function recordedProviderUsage(
  postgres: Postgres,
  providers: readonly string[],
  days: readonly string[],
): Promise<OfferDay[]> {
  const times = days.map((day) => Date.parse(day))
  const range = { fromMs: Math.min(...times), toMs: Math.max(...times) + DAY_MS }
  const ids = callIdRange(range)
  const rows = await postgres.$queryRawUnsafe<Row[]>(
    RECORDED,
    ids.from,
    ids.to,
    BigInt(range.fromMs),
    BigInt(range.toMs),
    providers,
    days,
  )
  return rows.map(({ day, offerId, promptTokens, completionTokens, costPico }) => ({
    day,
    offerId,
    promptTokens: BigInt(promptTokens),
    completionTokens: BigInt(completionTokens),
    costPico: picoUsd(BigInt(costPico)),
  }))
}
