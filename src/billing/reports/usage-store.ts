import type { UsageGroup } from '../../core/api/usage.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { isoDay } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { ACCOUNT_USAGE, accountUsageValues } from './account-usage.ts'

/** Sums over some calls. */
export interface UsageSums {
  calls: bigint
  promptTokens: bigint
  completionTokens: bigint
  chargePico: bigint
}

export interface UsageRow extends UsageSums {
  /** The day (`2027-01-31`, UTC), the model as named in responses, or the key's id. */
  group: string
  /** The key's name; null for other groups. */
  keyName: string | null
}

/** Usage and cost of an account's calls in a period, by group and in total, from one snapshot. */
export interface UsageReport {
  rows: UsageRow[]
  total: UsageSums
}

const GROUPS: Record<UsageGroup, string> = {
  day: 'at_ms / 86400000',
  model: 'requested_model',
  key: 'key_id',
}

/** Sums are text, which no driver rounds. The total comes first, also when there are no calls. */
const usageSql = (group: string) => `
WITH ${ACCOUNT_USAGE}, summed AS (
  SELECT ${group} AS "group", grouping(${group}) = 1 AS "isTotal", coalesce(sum(calls), 0) AS "calls",
         coalesce(sum(prompt_tokens), 0) AS "promptTokens",
         coalesce(sum(completion_tokens), 0) AS "completionTokens",
         coalesce(sum(charge_pico), 0) AS "chargePico"
  FROM usage WHERE calls > 0 GROUP BY GROUPING SETS ((${group}), ())
)
SELECT summed."group"::text AS "group", "isTotal", k.name AS "keyName", "calls"::text AS "calls",
       "promptTokens"::text AS "promptTokens", "completionTokens"::text AS "completionTokens",
       "chargePico"::text AS "chargePico"
FROM summed LEFT JOIN api_keys AS k ON k.id = summed."group"::text
ORDER BY "isTotal" DESC, summed."group" LIMIT $8::integer`

type Row = Record<keyof UsageSums, string> & { group: string | null; keyName: string | null }

export type UsageStore = ReturnType<typeof createUsageStore>

export function createUsageStore(postgres: Postgres) {
  return {
    /**
     * Sums the settled calls of an account that were admitted in a period. Null when there are more groups than
     * `rowsMax`.
     */
    async usage(accountId: string, range: TimeRange, group: UsageGroup, rowsMax: number) {
      const [total, ...rows] = await postgres.$queryRawUnsafe<Row[]>(
        usageSql(GROUPS[group]),
        ...accountUsageValues(accountId, range),
        rowsMax + 2,
      )
      if (!total) throw new Error('the sums of the usage returned no row')
      if (rows.length > rowsMax) return null
      return {
        total: toSums(total),
        rows: rows.map((row) => ({
          group: group === 'day' ? isoDay(Number(row.group)) : (row.group ?? ''),
          keyName: row.keyName,
          ...toSums(row),
        })),
      }
    },
  }
}

const toSums = (row: Row): UsageSums => ({
  calls: BigInt(row.calls),
  promptTokens: BigInt(row.promptTokens),
  completionTokens: BigInt(row.completionTokens),
  chargePico: BigInt(row.chargePico),
})
