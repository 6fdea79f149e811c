import type { UsageGroup } from '../../core/api/usage.ts'
import { type GroupScope, isGroupScope } from '../../core/billing/group-scopes.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { isoDay } from '../../core/kernel/time.ts'
import { withCustomPlans } from '../../platform/postgres/custom-plans.ts'
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
  /** The day (`2027-01-31`, UTC), the model as named in responses, the key's id, or what calls name; empty: nothing. */
  group: string
  /** The key's name; null for other groups. */
  keyName: string | null
  /** The sum of the groups of a scope without a row. */
  isOther: boolean
}

/** Usage and cost of an account's calls in a period, by group and in total, from one snapshot. */
export interface UsageReport {
  rows: UsageRow[]
  total: UsageSums
}

const GROUPS: Record<Exclude<UsageGroup, GroupScope>, string> = {
  day: 'at_ms / 86400000',
  model: 'requested_model',
  key: 'key_id',
}

/** Groups of a scope with a row each. */
const GROUPS_MAX = 100

/** Calls of a period that are read for groups of a scope, which totals do not have. */
export const CALLS_BY_GROUP_MAX = 50_000

/** The calls of an account in a period with their group of the scope `$4`. */
const GROUPED_CALLS = `latest AS (
  SELECT (SELECT substr(holder, length($4) + 2) FROM jsonb_array_elements_text(labels -> 'groups') AS holder
          WHERE starts_with(holder, $4 || ':') LIMIT 1) AS holder,
         1 AS calls, prompt_tokens, completion_tokens, charge_pico
  FROM call_records WHERE account_id = $1 AND admitted_at_ms >= $2::bigint AND admitted_at_ms < $3::bigint
  ORDER BY admitted_at_ms DESC LIMIT ${CALLS_BY_GROUP_MAX + 1}
), usage AS (SELECT * FROM latest)`

/** Sums are text, which no driver rounds. The total comes first, also when there are no calls. */
const usageSql = (usage: string, group: string, rowsMax: number) => `
WITH ${usage}, summed AS (
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
ORDER BY "isTotal" DESC, summed."group" LIMIT ${rowsMax + 2}`

type Row = Record<keyof UsageSums, string> & { group: string | null; keyName: string | null }

export type UsageStore = ReturnType<typeof createUsageStore>

export function createUsageStore(postgres: Postgres) {
  return {
    /**
     * Sums the settled calls of an account that were admitted in a period. Null when there are more groups than
     * `rowsMax`, or for groups of a scope more calls than CALLS_BY_GROUP_MAX. Those come by cost, and calls in none last.
     */
    async usage(accountId: string, { fromMs, toMs }: TimeRange, group: UsageGroup, rowsMax: number) {
      const [total, ...rows] = await (isGroupScope(group)
        ? withCustomPlans(postgres, (transaction) =>
            transaction.$queryRawUnsafe<Row[]>(
              usageSql(GROUPED_CALLS, 'holder', rowsMax),
              ...[accountId, BigInt(fromMs), BigInt(toMs), group],
            ),
          )
        : postgres.$queryRawUnsafe<Row[]>(
            usageSql(ACCOUNT_USAGE, GROUPS[group], rowsMax),
            ...accountUsageValues(accountId, [fromMs, toMs]),
          ))
      if (!total) throw new Error('the sums of the usage returned no row')
      if (rows.length > rowsMax || (isGroupScope(group) && Number(total.calls) > CALLS_BY_GROUP_MAX))
        return null
      const found = rows.map((row) => ({
        group: group === 'day' ? isoDay(Number(row.group)) : (row.group ?? ''),
        keyName: row.keyName,
        isOther: false,
        ...toSums(row),
      }))
      return { total: toSums(total), rows: isGroupScope(group) ? withoutLeast(found) : found }
    },
  }
}

/** By cost, with one row for all but GROUPS_MAX. */
function withoutLeast(rows: UsageRow[]): UsageRow[] {
  const named = rows.filter(({ group }) => group !== '')
  named.sort((a, b) => Number(b.chargePico - a.chargePico) || Number(b.calls - a.calls))
  const rest = named.splice(GROUPS_MAX)
  const sum = (name: keyof UsageSums) => rest.reduce((total, row) => total + row[name], 0n)
  const other = {
    ...{ group: 'other', keyName: null, isOther: true, calls: sum('calls'), chargePico: sum('chargePico') },
    ...{ promptTokens: sum('promptTokens'), completionTokens: sum('completionTokens') },
  }
  return [...named, ...(rest.length > 0 ? [other] : []), ...rows.filter(({ group }) => group === '')]
}

const toSums = (row: Row): UsageSums => ({
  calls: BigInt(row.calls),
  promptTokens: BigInt(row.promptTokens),
  completionTokens: BigInt(row.completionTokens),
  chargePico: BigInt(row.chargePico),
})
