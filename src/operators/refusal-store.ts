import type { TimeRange } from '../core/billing/usage-query.ts'
import { type ErrorCode, statusOfCode } from '../core/kernel/errors.ts'
import { DAY_MS, HOUR_MS } from '../core/kernel/time.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** Requests that were refused before a call was admitted, with one error in one hour. */
export interface RefusalCount {
  /** Null: the request named no key, or one that does not exist. */
  sender: { accountId: string; keyId: string } | null
  code: ErrorCode
  /** The start of the hour (UTC), unix ms. */
  hourMs: number
  requests: number
  lastAtMs: number
}

interface RefusalRow {
  accountId: string | null
  accountName: string | null
  keyId: string | null
  keyName: string | null
  code: string
  status: number
  requests: number
  /** In each part of the period. */
  overTime: number[]
  lastAt: Date
}

const KEPT_MS = 91 * DAY_MS

/** Sorted, so that two processes lock the rows of one key in the same order. */
const ADD = `
INSERT INTO refused_requests AS known (account_id, hour, key_id, code, requests, last_at)
SELECT account_id, to_timestamp(hour_ms / 1000.0), key_id, code, requests, to_timestamp(last_ms / 1000.0)
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
  AS counted (account_id, hour_ms, key_id, code, requests, last_ms)
ORDER BY account_id, hour_ms, key_id, code
ON CONFLICT (account_id, hour, key_id, code) DO UPDATE SET
  requests = known.requests + excluded.requests, last_at = greatest(known.last_at, excluded.last_at)`

const read = (ofAccount: string) => `
WITH counted AS (
  SELECT account_id, key_id, code, greatest(0, width_bucket((extract(epoch FROM hour) * 1000)::bigint, $4::bigint[]) - 1) AS part,
         sum(requests) AS requests, max(last_at) AS last_at
  FROM refused_requests
  WHERE hour >= to_timestamp($1::bigint / 1000.0) AND hour < to_timestamp($2::bigint / 1000.0) ${ofAccount}
  GROUP BY 1, 2, 3, 4
), summed AS (
  SELECT account_id, key_id, code, sum(requests) AS requests, max(last_at) AS last_at, jsonb_object_agg(part, requests) AS over_time
  FROM counted GROUP BY account_id, key_id, code
  ORDER BY requests DESC, account_id, key_id, code LIMIT $3::integer
)
SELECT nullif(summed.account_id, '') AS "accountId", coalesce(account.email, account.name) AS "accountName",
       nullif(summed.key_id, '') AS "keyId", key.name AS "keyName", summed.code, summed.requests::text AS "requests",
       summed.over_time AS "overTime", summed.last_at AS "lastAt"
FROM summed
LEFT JOIN accounts AS account ON account.id = summed.account_id
LEFT JOIN api_keys AS key ON key.id = summed.key_id
ORDER BY summed.requests DESC, summed.account_id, summed.key_id, summed.code`
const READ_ALL = read('')
const READ_ACCOUNT = read('AND account_id = $5')

/** Counts of requests that were refused before a call was admitted, by key, error and hour. */
export type RefusalStore = ReturnType<typeof createRefusalStore>

export function createRefusalStore(postgres: Postgres) {
  return {
    async add(counts: readonly RefusalCount[]): Promise<void> {
      await postgres.$executeRawUnsafe(
        ADD,
        counts.map(({ sender }) => sender?.accountId ?? ''),
        counts.map(({ hourMs }) => BigInt(hourMs)),
        counts.map(({ sender }) => sender?.keyId ?? ''),
        counts.map(({ code }) => code),
        counts.map(({ requests }) => BigInt(requests)),
        counts.map(({ lastAtMs }) => BigInt(lastAtMs)),
      )
    },

    /** Of one account or all, summed over the hours that begin in a period or contain its start; most requests first. `starts`: of its parts. */
    async read(
      accountId: string | null,
      range: TimeRange,
      starts: readonly number[],
      limit: number,
    ): Promise<RefusalRow[]> {
      const fromMs = Math.floor(range.fromMs / HOUR_MS) * HOUR_MS
      const values = [BigInt(fromMs), BigInt(range.toMs), limit, starts.map(BigInt)]
      const rows = await (accountId === null
        ? postgres.$queryRawUnsafe<StoredRow[]>(READ_ALL, ...values)
        : postgres.$queryRawUnsafe<StoredRow[]>(READ_ACCOUNT, ...values, accountId))
      return rows.map((row) => ({
        ...row,
        status: statusOfCode(row.code),
        requests: Number(row.requests),
        overTime: starts.map((_, part) => Number(row.overTime[part] ?? 0)),
      }))
    },

    async prune(nowMs: number): Promise<void> {
      await postgres.refusedRequest.deleteMany({ where: { hour: { lt: new Date(nowMs - KEPT_MS) } } })
    },
  }
}

/** Only `add` writes these rows. */
type StoredRow = Omit<RefusalRow, 'requests' | 'status' | 'overTime'> & {
  requests: string
  overTime: Record<number, number>
  code: ErrorCode
}
