import type { UsageSeriesGroup } from '../../core/api/usage.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { withHashPlans } from '../../platform/postgres/custom-plans.ts'
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
  /** The number of a bucket, from 0, or one of the two below. */
  bucket: number
  /** The model without alias and suffix, the key's id, or the creator of the key (empty: unknown); null: all groups. */
  group: string | null
  /** The key's name, or the email of its creator; null for models. */
  name: string | null
}

/** As a bucket's number: the whole period, and the one before it, of which there is only the total. */
export const WHOLE_PERIOD = -1
export const PERIOD_BEFORE = -2

/** `gpt-5`, `openai/gpt-5` and `gpt-5:nitro` are one model. Regular expressions would take a quarter of the time of a chart. */
export const CANONICAL_MODEL = `CASE WHEN requested_model LIKE '%:%' OR requested_model LIKE 'openai/%' THEN (
  SELECT CASE WHEN bare LIKE 'openai/_%' AND bare NOT LIKE 'openai/%/%' THEN substr(bare, 8) ELSE bare END FROM (
    SELECT CASE WHEN right(requested_model, 6) IN (':nitro', ':floor') THEN left(requested_model, -6)
      WHEN right(requested_model, 7) = ':exacto' THEN left(requested_model, -7) ELSE requested_model END AS bare OFFSET 0) AS suffix
) ELSE requested_model END`

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

/** One text, since the client takes long over thousands of rows. Its parameters after those of the usage, whose parts are the buckets, the period and the one before: see `series`. */
const seriesSql = ({ group, join = '', names }: GroupSql, ofModel: string, ofKey: string) => `
WITH ${ACCOUNT_USAGE}, cell AS MATERIALIZED (
  SELECT CASE part WHEN 0 THEN width_bucket(at_ms, $6::bigint[]) - 1 ELSE -part END AS bucket, ${group} AS "group",
         sum(calls) AS calls, sum(failed_calls) AS failed, sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion,
         sum(charge_pico) AS charge, sum(first_tokens) AS first_tokens, sum(durations) AS durations
  FROM usage ${join} WHERE calls > 0 ${ofModel} ${ofKey} GROUP BY 1, 2
), summed AS (
  SELECT bucket, "group", calls, failed, prompt, completion, charge,
         CASE WHEN bucket < 0 OR $7::integer IS NULL THEN first_tokens END AS first_tokens,
         CASE WHEN bucket < 0 OR $7::integer IS NULL THEN durations END AS durations
  FROM cell WHERE bucket = ${WHOLE_PERIOD} OR (bucket >= 0 AND ($7::integer IS NULL OR "group" IN (
    SELECT "group" FROM cell WHERE bucket = ${WHOLE_PERIOD} ORDER BY charge DESC, "group" LIMIT $7::integer)))
  UNION ALL
  SELECT bucket, NULL, sum(calls), sum(failed), sum(prompt), sum(completion), sum(charge), sum(first_tokens), sum(durations)
  FROM cell GROUP BY bucket
)
SELECT coalesce(json_agg(listed), '[]')::text AS "cells" FROM (
SELECT s.bucket, s."group", ${names ? 'named.name' : 'NULL'} AS name, s.calls::text AS "calls", s.failed::text AS "failed",
       s.prompt::text AS "promptTokens", s.completion::text AS "completionTokens", s.charge::text AS "chargePico",
       first_tokens::text AS "firstTokens", durations::text AS "durations"
FROM summed AS s ${names ?? ''}
ORDER BY s.bucket, s."group" NULLS FIRST LIMIT $8::integer) AS listed`

type Row = Record<keyof UsageSums | 'failed', string> &
  Record<'firstTokens' | 'durations', string | null> &
  Pick<UsageCell, 'bucket' | 'group' | 'name'>

export interface UsageSeriesQuery {
  accountId: string
  range: TimeRange
  /** Of the period of equal length before it, unix ms. */
  beforeMs: number
  /** Unix ms, ascending; the first at or before the range. */
  starts: readonly number[]
  group: UsageSeriesGroup
  /** The cells of so many groups, the most expensive ones. Null: of all, each with its medians. */
  top: number | null
  /** A model as grouped; absent: any. */
  model?: string
  keyId?: string
}

export type UsageSeriesStore = ReturnType<typeof createUsageSeriesStore>

export function createUsageSeriesStore(postgres: Postgres) {
  return {
    /**
     * Usage and cost of an account's calls over time, for each bucket and group, with the totals of both, of the period and
     * of the one before, from one snapshot; without what has no calls. Null when there are more cells than `cellsMax`.
     */
    async series(query: UsageSeriesQuery, cellsMax: number): Promise<UsageCell[] | null> {
      const { accountId, range, beforeMs, starts, group, top, model, keyId } = query
      const { fromMs, toMs } = range
      const values: unknown[] = [
        ...accountUsageValues(
          accountId,
          [fromMs, ...starts.filter((at) => at > fromMs), toMs],
          [fromMs, toMs],
          [beforeMs, fromMs],
        ),
        starts.map(BigInt),
        top,
        cellsMax + 1,
      ]
      const condition = (sql: string, value: string | undefined) =>
        value === undefined ? '' : ` AND ${sql} = $${values.push(value)}`
      const ofModel = condition(CANONICAL_MODEL, model)
      const sql = seriesSql(GROUPS[group], ofModel, condition('key_id', keyId))
      const [found] = await withHashPlans(postgres, (transaction) =>
        transaction.$queryRawUnsafe<Array<{ cells: string }>>(sql, ...values),
      )
      const rows = JSON.parse(found!.cells) as Row[]
      return rows.length > cellsMax ? null : rows.map(toCell)
    },
  }
}

const toCell = ({ bucket, group, name, ...row }: Row): UsageCell => {
  const [firstTokens, durations] = [readCounts(row.firstTokens), readCounts(row.durations)]
  return {
    ...{ bucket, group, name },
    calls: BigInt(row.calls),
    failed: BigInt(row.failed),
    promptTokens: BigInt(row.promptTokens),
    completionTokens: BigInt(row.completionTokens),
    chargePico: BigInt(row.chargePico),
    firstTokenMs: quantile(firstTokens, 0.5),
    firstTokenP95Ms: quantile(firstTokens, 0.95),
    durationMs: quantile(durations, 0.5),
  }
}

const COUNT_DIGITS = 9

/** The numbers of calls by latency bucket, which a sum of the function `latency_count` of the schema holds. */
export function readCounts(digits: string | null): number[] {
  const counts: number[] = []
  for (let end = digits?.length ?? 0; end > 0; end -= COUNT_DIGITS)
    counts.push(Number(digits!.slice(Math.max(0, end - COUNT_DIGITS), end)))
  return counts
}

/** The milliseconds at which a latency bucket begins: the inverse of the function `latency_bucket` of the schema. */
const edgeMs = (bucket: number) => (bucket === 0 ? 0 : 16 * 2 ** (bucket / 4))

/** Calls are taken to be spread evenly over their bucket: wrong by less than its width, a fifth. */
export function quantile(counts: readonly number[], share: number): number | null {
  const rank = share * counts.reduce((sum, count) => sum + count, 0)
  let before = 0
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && before + count >= rank)
      return edgeMs(bucket) + ((rank - before) / count) * (edgeMs(bucket + 1) - edgeMs(bucket))
    before += count
  }
  return null
}
