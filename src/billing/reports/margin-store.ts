import type { MarginView } from '../../core/api/billing.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { HOUR_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { QUARTER_MS, usageSpans } from './account-usage.ts'
import { quantile, readCounts } from './usage-series-store.ts'

export type MarginGroup = MarginView['group_by']
export type MarginSort = 'revenue' | 'cost' | 'margin'

/** Rows of the report in their order: how many, and after how many. */
export interface MarginPage {
  sort: MarginSort
  after: number
  limit: number
}

/** Revenue and cost of some calls, pico-USD. */
export interface MarginSums {
  calls: bigint
  promptTokens: bigint
  completionTokens: bigint
  revenuePico: bigint
  costPico: bigint
  /** The providers' cost of attempts that served no call: failed, rescued or cancelled ones. */
  brokenPico: bigint
  /** Of prompts that are long enough for a provider's cache; read from one; what they would have cost without; saved. */
  cacheableTokens: bigint
  cachedTokens: bigint
  uncachedPromptPico: bigint
  cacheSavedPico: bigint
}

export interface Margin {
  rows: Array<MarginSums & { group: string }>
  /** Whether more rows follow. */
  hasMore: boolean
  /** Of all rows, not of the page. */
  total: MarginSums
}

/** The margin of a model, or of all others together (`''`), on a day (UTC); pico-USD, negative where it is a loss. */
export interface MarginDay {
  day: string
  model: string
  marginPico: bigint
}

const GROUPS: Record<MarginGroup, string> = {
  account: 'account_id',
  model: "coalesce(nullif(model_id, ''), '-')",
  // A broken attempt counts for its own provider, not for that of the one that served the call.
  provider: "coalesce(nullif(split_part(offer_id, '/', 1), ''), '-')",
  day: "to_char(date '1970-01-01' + (starts_at_ms / 86400000)::integer, 'YYYY-MM-DD')",
}

const SORTS: Record<MarginSort, string> = {
  revenue: 'revenue DESC',
  cost: 'cost + broken DESC',
  // What loses most comes first.
  margin: 'revenue - cost - broken',
}

/** All calls admitted in an hour, or since the first of several. */
export interface GatewayHour {
  /** Null: the sums of all hours. */
  hourMs: number | null
  calls: number
  failed: number
  revenuePico: bigint
  marginPico: bigint
  /** Time to first token, to a fifth; null: no call has one. */
  firstTokenP95Ms: number | null
}

const HOURS = `
SELECT starts_at_ms::float8 AS "hourMs", coalesce(sum(calls), 0)::float8 AS calls,
       coalesce(sum(failed_calls), 0)::float8 AS failed, coalesce(sum(charge_pico), 0)::text AS revenue,
       coalesce(sum(charge_pico - cost_pico - broken_pico), 0)::text AS margin, sum(first_tokens)::text AS "firstTokens"
FROM usage_totals WHERE width_ms = ${HOUR_MS} AND starts_at_ms >= $1::bigint
GROUP BY GROUPING SETS ((starts_at_ms), ())`

const USED = `used AS (
  SELECT total.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS span (width_ms, from_ms, to_ms)
  CROSS JOIN LATERAL (
    SELECT * FROM usage_totals WHERE width_ms = span.width_ms AND starts_at_ms >= from_ms AND starts_at_ms < to_ms OFFSET 0
  ) AS total
)`

const DAYS = `
WITH ${USED}, daily AS (
  SELECT ${GROUPS.day} AS day, ${GROUPS.model} AS model, sum(charge_pico) AS revenue,
         sum(charge_pico - cost_pico - broken_pico) AS margin
  FROM used WHERE calls > 0 OR broken_pico > 0 GROUP BY 1, 2
), shown AS (SELECT model FROM daily GROUP BY model ORDER BY sum(revenue) DESC, model LIMIT $4::integer)
SELECT day, coalesce(shown.model, '') AS model, sum(margin)::text AS "marginPico"
FROM daily LEFT JOIN shown USING (model) GROUP BY day, shown.model ORDER BY day, shown.model`

/** Sums are text. */
const marginSql = (group: MarginGroup, sort: MarginSort) => `
WITH ${USED}, summed AS (
  SELECT ${GROUPS[group]} AS "group", grouping(${GROUPS[group]}) = 1 AS "isTotal", sum(calls) AS calls,
         sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion, sum(charge_pico) AS revenue,
         sum(cost_pico) AS cost, sum(broken_pico) AS broken, sum(cacheable_tokens) AS cacheable,
         sum(cached_tokens) AS cached, sum(uncached_prompt_pico) AS uncached, sum(cache_saved_pico) AS saved
  FROM used WHERE calls > 0 OR broken_prompt_tokens > 0 OR broken_pico > 0
  GROUP BY GROUPING SETS ((${GROUPS[group]}), ())
)
SELECT "group", coalesce(calls, 0)::text AS "calls", coalesce(prompt, 0)::text AS "promptTokens",
       coalesce(completion, 0)::text AS "completionTokens", coalesce(revenue, 0)::text AS "revenuePico",
       coalesce(cost, 0)::text AS "costPico", coalesce(broken, 0)::text AS "brokenPico",
       coalesce(cacheable, 0)::text AS "cacheableTokens", coalesce(cached, 0)::text AS "cachedTokens",
       coalesce(uncached, 0)::text AS "uncachedPromptPico", coalesce(saved, 0)::text AS "cacheSavedPico"
FROM (
  SELECT *, row_number() OVER (PARTITION BY "isTotal" ORDER BY ${group === 'day' ? '' : `${SORTS[sort]}, `}"group") AS place FROM summed
) AS placed
WHERE "isTotal" OR place > $4::integer
ORDER BY "isTotal" DESC, place LIMIT $5::integer`

type Row = Record<keyof MarginSums, string> & { group: string | null }

type HourRow = Pick<GatewayHour, 'hourMs' | 'calls' | 'failed'> &
  Record<'revenue' | 'margin', string> & { firstTokens: string | null }

export type MarginStore = ReturnType<typeof createMarginStore>

export function createMarginStore(postgres: Postgres) {
  return {
    /** Each hour with calls since the start of one, and the sums of all. */
    async hours(fromMs: number): Promise<GatewayHour[]> {
      const rows = await postgres.$queryRawUnsafe<HourRow[]>(HOURS, BigInt(fromMs))
      return rows.map(({ revenue, margin, firstTokens, ...counts }) => ({
        ...counts,
        revenuePico: BigInt(revenue),
        marginPico: BigInt(margin),
        firstTokenP95Ms: quantile(readCounts(firstTokens), 0.95),
      }))
    },

    /** The margin of each day of a period by model, in order: of the models with the most revenue, and of all others. */
    async days(range: TimeRange, modelsMax: number): Promise<MarginDay[]> {
      const rows = await postgres.$queryRawUnsafe<Array<Record<keyof MarginDay, string>>>(
        DAYS,
        ...spanValues(range),
        modelsMax,
      )
      return rows.map(({ marginPico, ...named }) => ({ ...named, marginPico: BigInt(marginPico) }))
    },

    /**
     * A page of the margin of calls admitted in a period, which is extended to whole quarters of an hour. Days are in their
     * own order.
     */
    async margin(range: TimeRange, group: MarginGroup, { sort, after, limit }: MarginPage): Promise<Margin> {
      const [total, ...rows] = await postgres.$queryRawUnsafe<Row[]>(
        marginSql(group, sort),
        ...spanValues(range),
        after,
        limit + 2,
      )
      if (!total) throw new Error('the sums of the margin returned no row')
      return {
        total: toSums(total),
        rows: rows.slice(0, limit).map((row) => ({ group: row.group ?? '-', ...toSums(row) })),
        hasMore: rows.length > limit,
      }
    },
  }
}

/** The first three parameters, of whole quarters of an hour. */
function spanValues({ fromMs, toMs }: TimeRange): bigint[][] {
  const spans = usageSpans([
    Math.floor(fromMs / QUARTER_MS) * QUARTER_MS,
    Math.ceil(toMs / QUARTER_MS) * QUARTER_MS,
  ])
  return (['widthMs', 'fromMs', 'toMs'] as const).map((name) => spans.map((span) => BigInt(span[name])))
}

const toSums = (row: Row): MarginSums => ({
  calls: BigInt(row.calls),
  promptTokens: BigInt(row.promptTokens),
  completionTokens: BigInt(row.completionTokens),
  revenuePico: BigInt(row.revenuePico),
  costPico: BigInt(row.costPico),
  brokenPico: BigInt(row.brokenPico),
  cacheableTokens: BigInt(row.cacheableTokens),
  cachedTokens: BigInt(row.cachedTokens),
  uncachedPromptPico: BigInt(row.uncachedPromptPico),
  cacheSavedPico: BigInt(row.cacheSavedPico),
})
