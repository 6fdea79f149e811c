import type { UsageGroup, UsageSeriesGroup } from '../../core/api/usage.ts'
import { type GroupScope, isGroupScope } from '../../core/billing/group-scopes.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { isoDay } from '../../core/kernel/time.ts'
import type { ClickHouse } from '../../platform/clickhouse.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import {
  PERIOD_BEFORE,
  type UsageSeriesQuery,
  type UsageSeriesStore,
  WHOLE_PERIOD,
} from '../reports/usage-series-store.ts'
import { createUsageStore, type UsageStore, type UsageSums } from '../reports/usage-store.ts'
import { CALLS_TABLE } from './analytics-tables.ts'

const GROUPS: Record<Exclude<UsageGroup, GroupScope> | UsageSeriesGroup, string> = {
  day: 'intDiv(admitted_at_ms, 86400000)',
  model: 'model',
  key: 'key_id',
  member: 'made_by',
}

/** Without rows that others replace. A call stays in its month, so that months are merged one by one. */
const CALLS_OF_RANGE = `FROM ${CALLS_TABLE} FINAL
WHERE account_id = {account:String} AND admitted_at_ms >= {from:Int64} AND admitted_at_ms < {to:Int64}`
const SETTINGS = 'SETTINGS do_not_merge_across_partitions_select_final = 1'

/** Sums are text: those of charges exceed 64 bits. */
const SUMS = `toString(count()) AS calls, toString(sum(prompt_tokens)) AS promptTokens,
  toString(sum(completion_tokens)) AS completionTokens, toString(sum(toInt128(charge_pico))) AS chargePico`

type SumsRow = Record<keyof UsageSums, string>

const toSums = (row: SumsRow): UsageSums => ({
  calls: BigInt(row.calls),
  promptTokens: BigInt(row.promptTokens),
  completionTokens: BigInt(row.completionTokens),
  chargePico: BigInt(row.chargePico),
})

const usageSql = (group: string, rowsMax: number) => `
SELECT toString(${group}) AS "group", grouping(${group}) AS "isTotal", ${SUMS} ${CALLS_OF_RANGE}
GROUP BY GROUPING SETS ((${group}), ()) ORDER BY "isTotal" DESC, ${group} LIMIT ${rowsMax + 2} ${SETTINGS}`

const seriesSql = (group: string, conditions: string, top: number | null, cellsMax: number) => `
SELECT bucket, "group", grouping("group") AS "isAllGroups",
  toString(countIf(status = 'failed')) AS "failed", quantileExactInclusive(0.5)(first_token) AS "firstTokenMs",
  quantileExactInclusive(0.95)(first_token) AS "firstTokenP95Ms",
  quantileExactInclusive(0.5)(duration) AS "durationMs", ${SUMS}
FROM (
  SELECT arrayJoin(if(admitted_at_ms < {start:Int64}, [${PERIOD_BEFORE}], [${WHOLE_PERIOD},
      toInt32(arrayLastIndex(start -> start <= admitted_at_ms, {starts:Array(Int64)})) - 1])) AS bucket, ${group} AS "group",
    status, prompt_tokens, completion_tokens, charge_pico,
    if(first_token_at_ms IS NULL, NULL, greatest(0, first_token_at_ms - admitted_at_ms)) AS first_token,
    greatest(0, finished_at_ms - admitted_at_ms) AS duration
  ${CALLS_OF_RANGE} ${conditions}
)
GROUP BY GROUPING SETS ((bucket, "group"), (bucket))
HAVING "isAllGroups" = 1 OR bucket = ${WHOLE_PERIOD} OR (bucket >= 0 ${
  top === null
    ? ''
    : `AND "group" IN (
  SELECT ${group} ${CALLS_OF_RANGE} AND admitted_at_ms >= {start:Int64} ${conditions}
  GROUP BY 1 ORDER BY sum(toInt128(charge_pico)) DESC, 1 LIMIT ${top})`
})
ORDER BY bucket, "isAllGroups" DESC, "group" LIMIT ${cellsMax + 1} ${SETTINGS}`

type SeriesRow = SumsRow &
  Record<'bucket' | 'isAllGroups', number> &
  Record<'group' | 'failed', string> &
  Record<'firstTokenMs' | 'firstTokenP95Ms' | 'durationMs', number | null>

/** Names by the ids of a group; keys have theirs, and members their email. */
async function namesOf(
  postgres: Postgres,
  group: UsageGroup | UsageSeriesGroup,
  ids: string[],
): Promise<Map<string, string | null>> {
  const where = { id: { in: ids } }
  if (group === 'key') {
    const keys = await postgres.apiKey.findMany({ where, select: { id: true, name: true } })
    return new Map(keys.map(({ id, name }) => [id, name]))
  }
  if (group !== 'member') return new Map()
  const members = await postgres.account.findMany({ where, select: { id: true, email: true } })
  return new Map(members.map(({ id, email }) => [id, email]))
}

/** Usage and its series as the stores over PostgreSQL read them, but from ClickHouse; names, and usage by project, tag and end user, come from PostgreSQL. */
export function createAnalyticsUsage(
  clickHouse: ClickHouse,
  postgres: Postgres,
): UsageStore & UsageSeriesStore {
  const { usage } = createUsageStore(postgres)
  return {
    async usage(accountId: string, range: TimeRange, group: UsageGroup, rowsMax: number) {
      if (isGroupScope(group)) return usage(accountId, range, group, rowsMax)
      const { fromMs, toMs } = range
      // As named in responses, with suffixes.
      const expression = group === 'model' ? 'requested_model' : GROUPS[group]
      const [total, ...rows] = await clickHouse.select<SumsRow & { group: string }>(
        usageSql(expression, rowsMax),
        { account: accountId, from: fromMs, to: toMs },
      )
      if (!total) throw new Error('the sums of the usage returned no row')
      if (rows.length > rowsMax) return null
      const names = await namesOf(
        postgres,
        group,
        rows.map((row) => row.group),
      )
      return {
        total: toSums(total),
        rows: rows.map((row) => ({
          group: group === 'day' ? isoDay(Number(row.group)) : row.group,
          keyName: names.get(row.group) ?? null,
          isOther: false,
          ...toSums(row),
        })),
      }
    },

    async series(query: UsageSeriesQuery, cellsMax: number) {
      const { accountId, range, beforeMs, starts, group, top, model, keyId } = query
      const conditions = [
        ...(model === undefined ? [] : ['AND model = {model:String}']),
        ...(keyId === undefined ? [] : ['AND key_id = {key:String}']),
      ]
      const rows = await clickHouse.select<SeriesRow>(
        seriesSql(GROUPS[group], conditions.join(' '), top, cellsMax),
        {
          ...{ account: accountId, from: beforeMs, start: range.fromMs, to: range.toMs, starts },
          ...{ model: model ?? '', key: keyId ?? '' },
        },
      )
      if (rows.length > cellsMax) return null
      const groups = new Set(rows.filter((row) => row.isAllGroups === 0).map((row) => row.group))
      const names = await namesOf(postgres, group, [...groups])
      return rows.map((row) => ({
        bucket: row.bucket,
        group: row.isAllGroups === 1 ? null : row.group,
        name: row.isAllGroups === 1 ? null : (names.get(row.group) ?? null),
        ...toSums(row),
        failed: BigInt(row.failed),
        firstTokenMs: row.firstTokenMs,
        firstTokenP95Ms: row.firstTokenP95Ms,
        durationMs: row.durationMs,
      }))
    },
  }
}
