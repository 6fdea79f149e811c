import type { UsageSeriesGroup } from '../../core/api/usage.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { ACCOUNT_USAGE, accountUsageValues } from './account-usage.ts'
import type { UsageSums } from './usage-store.ts'

/** Sums and medians over some calls. */
export interface UsageFigures extends UsageSums {
  /** The number of failed calls. */
  failed: bigint
  /** Medians of the latest calls of each bucket, at most SAMPLE_MAX in all; null if none has one. */
  firstTokenMs: number | null
  /** The 95th percentile of the same calls. */
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
), latest AS (
  SELECT span.number - 1 AS bucket, ${group} AS "group", first_token, duration
  FROM unnest($8::bigint[], $9::bigint[]) WITH ORDINALITY AS span (from_ms, to_ms, number)
  CROSS JOIN LATERAL (
    SELECT key_id, requested_model,
           CASE WHEN first_token_at_ms IS NOT NULL THEN greatest(0, first_token_at_ms - admitted_at_ms) END AS first_token,
           greatest(0, finished_at_ms - admitted_at_ms) AS duration
    FROM call_records
    WHERE account_id = $1 AND admitted_at_ms >= greatest(from_ms, $2::bigint) AND admitted_at_ms < to_ms ${ofKey}
    ORDER BY admitted_at_ms DESC LIMIT $10::integer
  ) AS call ${join} WHERE true ${ofModel}
), median AS (
  SELECT CASE WHEN grouping(bucket) = 0 THEN bucket END AS bucket,
         CASE WHEN grouping("group") = 0 THEN "group" END AS "group",
         percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY first_token) AS first_token,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY duration) AS duration
  FROM latest GROUP BY GROUPING SETS ((bucket, "group"), (bucket), ("group"), ())
)
SELECT s.bucket, s."group", ${names ? 'named.name' : 'NULL'} AS name, s.calls::text AS "calls", s.failed::text AS "failed",
       s.prompt::text AS "promptTokens", s.completion::text AS "completionTokens", s.charge::text AS "chargePico",
       median.first_token[1] AS "firstTokenMs", median.first_token[2] AS "firstTokenP95Ms", median.duration AS "durationMs"
FROM summed AS s
LEFT JOIN median ON coalesce(median.bucket, -1) = coalesce(s.bucket, -1)
  AND median."group" IS NOT DISTINCT FROM s."group" ${names ?? ''}
ORDER BY s.bucket NULLS FIRST, s."group" NULLS FIRST LIMIT $11::integer`

/** Calls that medians are computed of. */
const SAMPLE_MAX = 20_000

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
        [...starts.slice(1), range.toMs].map(BigInt),
        Math.ceil(SAMPLE_MAX / starts.length),
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
