import type { UsageSeriesGroup } from '../../core/api/usage.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { ACCOUNT_USAGE, accountUsageValues } from './account-usage.ts'
import type { UsageSums } from './usage-store.ts'

/** Sums and medians over some calls. */
export interface UsageFigures extends UsageSums {
  failed: bigint
  /** Medians, to a fifth, of counts of calls by duration; null if no call has one. */
  firstTokenMs: number | null
  /** The 95th percentile. */
  firstTokenP95Ms: number | null
  durationMs: number | null
}

export interface UsageCell extends UsageFigures {
  /** The bucket's number, from 0; null: all buckets. */
  bucket: number | null
  /** The model without alias and suffix, the key's id, or the creator of the key (empty: unknown); null: all groups. */
  group: string | null
  /** The key's name, or the email of its creator; null for models. */
  name: string | null
}

/** `gpt-5`, `openai/gpt-5` and `gpt-5:nitro` are one model. */
export const CANONICAL_MODEL = `regexp_replace(
  regexp_replace(requested_model, ':(nitro|floor|exacto)$', ''), '^openai/([^/]+)$', '\\1')`

interface GroupSql {
  group: string
  /** The join that the group needs, and the columns that name it. */
  join?: string
  names?: string
}

const GROUPS: Record<UsageSeriesGroup, GroupSql> = {
  model: { group: CANONICAL_MODEL },
  key: { group: 'key_id', names: 'LEFT JOIN api_keys AS named ON named.id = s."group"' },
  member: {
    group: `coalesce(made.created_by, '')`,
    join: 'LEFT JOIN api_keys AS made ON made.id = key_id',
    names: 'LEFT JOIN (SELECT id, email AS name FROM accounts) AS named ON named.id = s."group"',
  },
}

/** The milliseconds at which a latency bucket begins: the inverse of the function `latency_bucket` of the schema. */
const edge = (number: string) =>
  `CASE WHEN ${number} = 0 THEN 0 ELSE 16 * power(2, (${number}) / 4.0::float8) END`

/** Of the durations in `ranked`, which are spread evenly over their bucket: wrong by less than its width, a fifth. */
const quantile = (share: number) => `
  min(CASE WHEN before <= ${share} * total AND before + count >= ${share} * total
      THEN ${edge('number')} + (${share} * total - before)::float8 / count::float8 * (${edge('number + 1')} - ${edge('number')}) END)`

const seriesSql = ({ group, join = '', names }: GroupSql, ofModel: string, ofKey: string) => `
WITH ${ACCOUNT_USAGE}, part AS (
  SELECT width_bucket(at_ms, $8::bigint[]) - 1 AS bucket, ${group} AS "group", usage.*
  FROM usage ${join} WHERE calls > 0 ${ofModel} ${ofKey}
), summed AS (
  SELECT CASE WHEN grouping(bucket) = 0 THEN bucket END AS bucket,
         CASE WHEN grouping("group") = 0 THEN "group" END AS "group",
         coalesce(sum(calls), 0) AS calls, coalesce(sum(failed_calls), 0) AS failed,
         coalesce(sum(prompt_tokens), 0) AS prompt, coalesce(sum(completion_tokens), 0) AS completion,
         coalesce(sum(charge_pico), 0) AS charge
  FROM part GROUP BY GROUPING SETS ((bucket, "group"), (bucket), ("group"), ())
), counted AS (
  SELECT bucket, "group", is_duration, number, sum(count) AS count
  FROM part CROSS JOIN LATERAL (
    SELECT false, number, first_tokens[number] FROM generate_subscripts(first_tokens, 1) AS number
    UNION ALL SELECT true, number, durations[number] FROM generate_subscripts(durations, 1) AS number
  ) AS timed (is_duration, number, count)
  WHERE count <> 0 GROUP BY bucket, "group", is_duration, number
), latency AS (
  SELECT CASE WHEN grouping(bucket) = 0 THEN bucket END AS bucket,
         CASE WHEN grouping("group") = 0 THEN "group" END AS "group", is_duration, number, sum(count) AS count
  FROM counted
  GROUP BY GROUPING SETS ((is_duration, number, bucket, "group"), (is_duration, number, bucket), (is_duration, number, "group"), (is_duration, number))
), ranked AS (
  SELECT *, sum(count) OVER (PARTITION BY bucket, "group", is_duration ORDER BY number) - count AS before,
         sum(count) OVER (PARTITION BY bucket, "group", is_duration) AS total
  FROM latency
), median AS (
  SELECT bucket, "group", ${quantile(0.5)} FILTER (WHERE NOT is_duration) AS first_token,
         ${quantile(0.95)} FILTER (WHERE NOT is_duration) AS first_token_p95,
         ${quantile(0.5)} FILTER (WHERE is_duration) AS duration
  FROM ranked GROUP BY bucket, "group"
)
SELECT s.bucket, s."group", ${names ? 'named.name' : 'NULL'} AS name, s.calls::text AS "calls", s.failed::text AS "failed",
       s.prompt::text AS "promptTokens", s.completion::text AS "completionTokens", s.charge::text AS "chargePico",
       first_token AS "firstTokenMs", first_token_p95 AS "firstTokenP95Ms", duration AS "durationMs"
FROM summed AS s
LEFT JOIN median ON coalesce(median.bucket, -1) = coalesce(s.bucket, -1)
  AND median."group" IS NOT DISTINCT FROM s."group" ${names ?? ''}
ORDER BY s.bucket NULLS FIRST, s."group" NULLS FIRST LIMIT $9::integer`

type Row = Record<keyof UsageSums | 'failed', string> & Omit<UsageCell, keyof UsageSums | 'failed'>

export interface UsageSeriesQuery {
  accountId: string
  range: TimeRange
  /** Unix ms, ascending; the first at or before the range. */
  starts: readonly number[]
  group: UsageSeriesGroup
  /** A model as grouped; absent: any. */
  model?: string
  keyId?: string
}

export type UsageSeriesStore = ReturnType<typeof createUsageSeriesStore>

export function createUsageSeriesStore(postgres: Postgres) {
  return {
    /**
     * Usage and cost of an account's calls over time, for each bucket and group, with the totals of both and of all,
     * from one snapshot. Null when there are more than `cellsMax`.
     */
    async series(query: UsageSeriesQuery, cellsMax: number): Promise<UsageCell[] | null> {
      const { accountId, range, starts, group, model, keyId } = query
      const byDay = starts.every((at) => at % DAY_MS === 0)
      const values: unknown[] = [
        ...accountUsageValues(accountId, range, { byDay }),
        starts.map(BigInt),
        cellsMax + 1,
      ]
      const condition = (sql: string, value: string | undefined) =>
        value === undefined ? '' : ` AND ${sql} = $${values.push(value)}`
      const ofModel = condition(CANONICAL_MODEL, model)
      const sql = seriesSql(GROUPS[group], ofModel, condition('key_id', keyId))
      const rows = await postgres.$queryRawUnsafe<Row[]>(sql, ...values)
      return rows.length > cellsMax ? null : rows.map(toCell)
    },
  }
}

const toCell = ({ calls, failed, promptTokens, completionTokens, chargePico, ...row }: Row): UsageCell => ({
  ...row,
  calls: BigInt(calls),
  failed: BigInt(failed),
  promptTokens: BigInt(promptTokens),
  completionTokens: BigInt(completionTokens),
  chargePico: BigInt(chargePico),
})
