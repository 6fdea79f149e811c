import type { UsageSeriesGroup } from '../../core/api/usage.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { UsageSums } from './usage-store.ts'

/** Sums and medians over some calls. */
export interface UsageFigures extends UsageSums {
  /** The number of failed calls. */
  failed: bigint
  /** Medians; null if no call has one. */
  firstTokenMs: number | null
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
const CANONICAL_MODEL = `regexp_replace(
  regexp_replace(c.requested_model, ':(nitro|floor|exacto)$', ''), '^openai/([^/]+)$', '\\1')`

interface GroupSql {
  group: string
  /** The join that the group needs, and the columns that name it. */
  join?: string
  names?: string
}

const GROUPS: Record<UsageSeriesGroup, GroupSql> = {
  model: { group: CANONICAL_MODEL },
  key: { group: 'c.key_id', names: 'LEFT JOIN api_keys AS named ON named.id = s."group"' },
  member: {
    group: `coalesce(made.created_by, '')`,
    join: 'LEFT JOIN api_keys AS made ON made.id = c.key_id',
    names: 'LEFT JOIN (SELECT id, email AS name FROM accounts) AS named ON named.id = s."group"',
  },
}

const seriesSql = ({ group, join = '', names }: GroupSql, conditions: string) => `
WITH calls AS (
  SELECT width_bucket(c.admitted_at_ms, $4::bigint[]) - 1 AS bucket, ${group} AS "group",
         c.prompt_tokens, c.completion_tokens, c.charge_pico, c.status,
         CASE WHEN c.first_token_at_ms IS NOT NULL THEN greatest(0, c.first_token_at_ms - c.admitted_at_ms) END
           AS first_token,
         greatest(0, c.finished_at_ms - c.admitted_at_ms) AS duration
  FROM call_records AS c ${join}
  WHERE c.account_id = $1 AND c.admitted_at_ms >= $2::bigint AND c.admitted_at_ms < $3::bigint ${conditions}
), summed AS (
  SELECT CASE WHEN grouping(bucket) = 0 THEN bucket END AS bucket,
         CASE WHEN grouping("group") = 0 THEN "group" END AS "group",
         count(*) AS calls, count(*) FILTER (WHERE status = 'failed') AS failed,
         coalesce(sum(prompt_tokens), 0) AS prompt, coalesce(sum(completion_tokens), 0) AS completion,
         coalesce(sum(charge_pico), 0) AS charge,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY first_token) AS first_token,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY duration) AS duration
  FROM calls GROUP BY GROUPING SETS ((bucket, "group"), (bucket), ("group"), ())
)
SELECT s.bucket, s."group", ${names ? 'named.name' : 'NULL'} AS name, s.calls::text AS "calls", s.failed::text AS "failed",
       s.prompt::text AS "promptTokens", s.completion::text AS "completionTokens", s.charge::text AS "chargePico",
       s.first_token AS "firstTokenMs", s.duration AS "durationMs"
FROM summed AS s ${names ?? ''}
ORDER BY s.bucket NULLS FIRST, s."group" NULLS FIRST LIMIT $5::integer`

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
      const values: unknown[] = [
        accountId,
        BigInt(range.fromMs),
        BigInt(range.toMs),
        starts.map(BigInt),
        cellsMax + 1,
      ]
      const condition = (sql: string, value: string | undefined) =>
        value === undefined ? '' : ` AND ${sql} = $${values.push(value)}`
      const conditions = condition(CANONICAL_MODEL, model) + condition('c.key_id', keyId)
      const rows = await postgres.$queryRawUnsafe<Row[]>(seriesSql(GROUPS[group], conditions), ...values)
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
