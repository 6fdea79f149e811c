import type { OfferDay } from '../../core/billing/provider-bill.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/**
 * Recorded usage of the offers of some providers, by the day of admission (UTC): the calls they served, and attempts
 * that a provider bills and that served no call. Excludes calls on BYOK keys, which their owner is billed for.
 */
const RECORDED = `
SELECT to_char(date '1970-01-01' + (starts_at_ms / 86400000)::integer, 'YYYY-MM-DD') AS day, offer_id AS "offerId",
       sum(prompt_tokens + broken_prompt_tokens)::text AS "promptTokens",
       sum(completion_tokens + broken_completion_tokens)::text AS "completionTokens",
       sum(cost_pico + broken_pico)::text AS "costPico"
FROM usage_totals
WHERE width_ms = ${DAY_MS} AND starts_at_ms = ANY($1::bigint[]) AND NOT is_byok
  AND split_part(offer_id, '/', 1) = ANY($2::text[])
GROUP BY starts_at_ms, offer_id`

type Row = Record<keyof OfferDay, string>

/** The recorded usage of some providers on some days, `YYYY-MM-DD`. */
export async function recordedProviderUsage(
  postgres: Postgres,
  providers: readonly string[],
  days: readonly string[],
): Promise<OfferDay[]> {
  const starts = days.map((day) => BigInt(Date.parse(day)))
  const rows = await postgres.$queryRawUnsafe<Row[]>(RECORDED, starts, providers)
  return rows.map(({ day, offerId, promptTokens, completionTokens, costPico }) => ({
    day,
    offerId,
    promptTokens: BigInt(promptTokens),
    completionTokens: BigInt(completionTokens),
    costPico: picoUsd(BigInt(costPico)),
  }))
}
