import type { MarginView } from '../../core/api/billing.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { callIdRange } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { PROMPT_SUM_SQL } from '../settlement/settlement-statements.ts'

export type MarginGroup = MarginView['group_by']

/** Revenue and cost of some calls, pico-USD. */
export interface MarginSums {
  calls: bigint
  promptTokens: bigint
  completionTokens: bigint
  revenuePico: bigint
  costPico: bigint
  /** The providers' cost of attempts that served no call: failed, rescued or cancelled ones. */
  brokenPico: bigint
}

export interface Margin {
  rows: Array<MarginSums & { group: string }>
  total: MarginSums
}

const GROUPS: Record<MarginGroup, string> = {
  account: 'account_id',
  model: "coalesce(served_model_id, '-')",
  provider: "coalesce(split_part(served_offer_id, '/', 1), '-')",
  day: "to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}

/** The group of a broken attempt's cost: its own provider's, not that of the one that served the call. */
const BROKEN_GROUPS: Record<MarginGroup, string> = {
  ...GROUPS,
  provider: "split_part(attempt->>'offerId', '/', 1)",
}

/**
 * Tokens times the cost rates of each call; zero on a BYOK key. Broken attempts carry their cost. Sums are text.
 */
const marginSql = (group: MarginGroup) => `
WITH admitted AS (
  SELECT * FROM call_records
  WHERE id >= $1 AND id < $2 AND admitted_at_ms >= $3::bigint AND admitted_at_ms < $4::bigint
), parts AS (
  SELECT ${GROUPS[group]} AS "group", 1 AS calls, prompt_tokens, completion_tokens, charge_pico,
         coalesce(${PROMPT_SUM_SQL.cost}, 0)
           + completion_tokens * coalesce(completion_cost_pico, 0)::numeric AS cost_pico,
         0::numeric AS broken_pico
  FROM admitted
  UNION ALL
  SELECT ${BROKEN_GROUPS[group]}, 0, 0, 0, 0, 0, (attempt->'spent'->>'costPico')::numeric
  FROM admitted CROSS JOIN LATERAL jsonb_array_elements(attempts) AS attempt
  WHERE attempts @> '[{"spent": {}}]' AND attempt ? 'spent'
), summed AS (
  SELECT "group", grouping("group") = 1 AS "isTotal", sum(calls) AS calls, sum(prompt_tokens) AS prompt,
         sum(completion_tokens) AS completion, sum(charge_pico) AS revenue, sum(cost_pico) AS cost,
         sum(broken_pico) AS broken
  FROM parts GROUP BY GROUPING SETS (("group"), ())
)
SELECT "group", "isTotal", coalesce(calls, 0)::text AS "calls", coalesce(prompt, 0)::text AS "promptTokens",
       coalesce(completion, 0)::text AS "completionTokens", coalesce(revenue, 0)::text AS "revenuePico",
       coalesce(cost, 0)::text AS "costPico", coalesce(broken, 0)::text AS "brokenPico"
FROM summed
ORDER BY "isTotal" DESC, ${group === 'day' ? '"group"' : 'revenue DESC, "group"'} LIMIT $5::integer`

type Row = Record<keyof MarginSums, string> & { group: string | null }

export function createMarginStore(postgres: Postgres) {
  return {
    /** The margin of calls admitted in a period. Null when there are more groups than `rowsMax`. */
    async margin(range: TimeRange, group: MarginGroup, rowsMax: number): Promise<Margin | null> {
      const ids = callIdRange(range)
      const [total, ...rows] = await postgres.$queryRawUnsafe<Row[]>(
        marginSql(group),
        ids.from,
        ids.to,
        BigInt(range.fromMs),
        BigInt(range.toMs),
        rowsMax + 2,
      )
      if (!total) throw new Error('the sums of the margin returned no row')
      if (rows.length > rowsMax) return null
      return { total: toSums(total), rows: rows.map((row) => ({ group: row.group ?? '-', ...toSums(row) })) }
    },
  }
}

const toSums = (row: Row): MarginSums => ({
  calls: BigInt(row.calls),
  promptTokens: BigInt(row.promptTokens),
  completionTokens: BigInt(row.completionTokens),
  revenuePico: BigInt(row.revenuePico),
  costPico: BigInt(row.costPico),
  brokenPico: BigInt(row.brokenPico),
})
