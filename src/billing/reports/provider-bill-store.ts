import { type BillComparison, compareBill, type OfferDay } from '../../core/billing/provider-bill.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** $1 days and $2 providers, in pairs. */
const FORGET = `
DELETE FROM provider_bills
WHERE day = ANY($1::text[]::date[]) AND (day::text, split_part(offer_id, '/', 1)) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
const ADD = `
INSERT INTO provider_bills (day, offer_id, prompt_tokens, completion_tokens, cost_pico, recorded_prompt_tokens,
  recorded_completion_tokens, recorded_cost_pico, is_billed, difference)
SELECT * FROM json_to_recordset($1::json) AS bill (day date, offer_id text, prompt_tokens bigint, completion_tokens bigint,
  cost_pico bigint, recorded_prompt_tokens bigint, recorded_completion_tokens bigint, recorded_cost_pico bigint,
  is_billed boolean, difference double precision)`

const LIST = `
SELECT day::text AS day, offer_id AS "offerId", prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens",
       cost_pico AS "costPico", recorded_prompt_tokens AS "recordedPrompt", recorded_completion_tokens AS "recordedCompletion",
       recorded_cost_pico AS "recordedCost", is_billed AS "isBilled", difference
FROM provider_bills ORDER BY day DESC, difference DESC, offer_id LIMIT $1::int`

interface Row extends OfferDay {
  recordedPrompt: bigint
  recordedCompletion: bigint
  recordedCost: bigint
  isBilled: boolean
  difference: number
}

/** What providers billed by day and offer, beside what was on record when it was imported. */
export function createProviderBillStore(postgres: Postgres) {
  return {
    /** Compares a bill with our records, by day and offer: of each provider the days that its bill has. */
    compare: (billed: readonly OfferDay[]) => compareWithRecords(postgres, billed),

    /** Stores a bill with the comparison, instead of earlier ones of the same providers and days. */
    async import(billed: readonly OfferDay[]): Promise<BillComparison[]> {
      const compared = await compareWithRecords(postgres, billed)
      const keys = [...daysByProvider(billed)].flatMap(([provider, days]) =>
        days.map((day) => ({ provider, day })),
      )
      await postgres.$transaction([
        postgres.$executeRawUnsafe(
          FORGET,
          keys.map(({ day }) => day),
          keys.map(({ provider }) => provider),
        ),
        postgres.$executeRawUnsafe(ADD, JSON.stringify(compared.map(toRow))),
      ])
      return compared
    },

    /** What was imported, the newest day first and the largest differences of a day first. */
    async list(limit: number): Promise<BillComparison[]> {
      const rows = await postgres.$queryRawUnsafe<Row[]>(LIST, limit)
      return rows.map(toComparison)
    },
  }
}

async function compareWithRecords(
  postgres: Postgres,
  billed: readonly OfferDay[],
): Promise<BillComparison[]> {
  const compared: BillComparison[] = []
  for (const [provider, days] of daysByProvider(billed)) {
    const recorded = await recordedProviderUsage(postgres, [provider], days)
    const own = billed.filter(({ offerId }) => providerOf(offerId) === provider)
    compared.push(...compareBill(own, recorded))
  }
  return compared
}

function daysByProvider(billed: readonly OfferDay[]): Map<string, string[]> {
  const byProvider = Map.groupBy(billed, ({ offerId }) => providerOf(offerId))
  return new Map(
    [...byProvider].map(([provider, own]) => [provider, [...new Set(own.map(({ day }) => day))]]),
  )
}

export const providerOf = (offerId: string): string => offerId.split('/')[0]!

const toRow = ({ day, offerId, billed, recorded, difference }: BillComparison) => ({
  day,
  offer_id: offerId,
  prompt_tokens: text(billed?.promptTokens),
  completion_tokens: text(billed?.completionTokens),
  cost_pico: text(billed?.costPico),
  recorded_prompt_tokens: text(recorded?.promptTokens ?? 0n),
  recorded_completion_tokens: text(recorded?.completionTokens ?? 0n),
  recorded_cost_pico: text(recorded?.costPico ?? 0n),
  is_billed: billed !== null,
  difference,
})

const text = (value: bigint | null | undefined): string | null =>
  value === null || value === undefined ? null : String(value)

function toComparison(row: Row): BillComparison {
  const { day, offerId, promptTokens, completionTokens, costPico, difference } = row
  const billed = { day, offerId, promptTokens, completionTokens, costPico }
  const recorded = {
    day,
    offerId,
    promptTokens: row.recordedPrompt,
    completionTokens: row.recordedCompletion,
    costPico: picoUsd(row.recordedCost),
  }
  return { day, offerId, billed: row.isBilled ? billed : null, recorded, difference }
}

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

type RecordedRow = Record<keyof OfferDay, string>

/** The recorded usage of some providers on some days, `YYYY-MM-DD`. */
export async function recordedProviderUsage(
  postgres: Postgres,
  providers: readonly string[],
  days: readonly string[],
): Promise<OfferDay[]> {
  const starts = days.map((day) => BigInt(Date.parse(day)))
  const rows = await postgres.$queryRawUnsafe<RecordedRow[]>(RECORDED, starts, providers)
  return rows.map(({ day, offerId, promptTokens, completionTokens, costPico }) => ({
    day,
    offerId,
    promptTokens: BigInt(promptTokens),
    completionTokens: BigInt(completionTokens),
    costPico: picoUsd(BigInt(costPico)),
  }))
}
