import type { ClaimWaitView } from '../../core/api/operations.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { callIdRange } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { createCallList } from './call-list.ts'
import { type CallRecord, type ListedCall, toListedCall, toRecord } from './call-record.ts'
import { OF_SESSION, readRecentSessions, SESSION_CALLS_MAX } from './call-sessions.ts'

/** Settled calls, read from PostgreSQL. All methods reject while it is away. */
export type CallRecords = ReturnType<typeof createCallRecords>

/** The error of a request for such a call. */
export const ARCHIVED_CALL = 'The month of this call was archived. Its record is no longer here.'

/** Maximum per account. */
const LATEST_MAX = 100

const SETTLED_IDS = `
SELECT latest.id FROM unnest($1::text[]) AS account (id)
CROSS JOIN LATERAL (
  SELECT id, settled_at_ms FROM call_records
  WHERE account_id = account.id ORDER BY admitted_at_ms DESC LIMIT ${LATEST_MAX}
) AS latest
WHERE latest.settled_at_ms > $2 ORDER BY latest.settled_at_ms, latest.id`

const SESSION_IDS = `
SELECT id FROM call_records WHERE ${OF_SESSION} ORDER BY admitted_at_ms DESC LIMIT ${SESSION_CALLS_MAX}`

export function createCallRecords(postgres: Postgres) {
  /** The calls that exist, in the order of the ids. */
  const load = async (ids: readonly string[]): Promise<ListedCall[]> => {
    if (ids.length === 0) return []
    const rows = await postgres.callRecord.findMany({
      where: { id: { in: [...ids] } },
      omit: { attempts: true },
    })
    const found = new Map(rows.map((row) => [row.id, row]))
    return ids.flatMap((id) => {
      const row = found.get(id)
      return row ? [toListedCall(row)] : []
    })
  }
  const idsOf = async (sql: string, ...values: unknown[]): Promise<string[]> =>
    (await postgres.$queryRawUnsafe<Array<{ id: string }>>(sql, ...values)).map(({ id }) => id)
  return {
    async find(callId: string): Promise<CallRecord | null> {
      const row = await postgres.callRecord.findUnique({ where: { id: callId } })
      return row && toRecord(row)
    },

    /** Whether the month of a call was archived, so that its record is not here any more. */
    async isArchived(callId: string): Promise<boolean> {
      const [row] = await postgres.$queryRawUnsafe<Array<{ at: Date | null }>>(
        'SELECT archived_at($1) AS at',
        callId,
      )
      return row?.at != null
    },

    /**
     * The latest calls with this request id since a time, at most ten: clients may repeat an id. Reads all calls of that time,
     * since request ids have no index.
     */
    async findByRequestId(requestId: string, { fromMs, toMs }: TimeRange): Promise<CallRecord[]> {
      const ids = callIdRange({ fromMs, toMs })
      const rows = await postgres.callRecord.findMany({
        where: { requestId, id: { gte: ids.from, lt: ids.to } },
        orderBy: { admittedAtMs: 'desc' },
        take: 10,
      })
      return rows.map(toRecord)
    },

    list: createCallList(postgres, load),

    /** The latest calls of a session, in their order. */
    ofSession: async (accountId: string, session: string): Promise<ListedCall[]> =>
      load((await idsOf(SESSION_IDS, accountId, session)).reverse()),

    recentSessions: (accountId: string, sinceMs: number) => readRecentSessions(postgres, accountId, sinceMs),

    /**
     * Calls of some accounts settled after a time, oldest first. Reads only the latest of each account, so that an
     * account with very many costs no more than another.
     */
    async settledSince(accountIds: readonly string[], settledAfterMs: number): Promise<ListedCall[]> {
      return load(await idsOf(SETTLED_IDS, accountIds, BigInt(settledAfterMs)))
    },
  }
}

const WINDOW_MS = 300_000
/** If there are more calls, only the latest count; the order of magnitude is the same. */
const CALLS_MAX = 20_000

const WAITS = `
SELECT count(*)::integer AS "calls", percentile_disc(ARRAY[0.5, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY wait) AS "waits"
FROM (
  SELECT greatest(0, claimed_at_ms - admitted_at_ms)::double precision AS wait FROM call_records
  WHERE id >= $1 AND admitted_at_ms >= $2::bigint AND claimed_at_ms IS NOT NULL
  ORDER BY id DESC LIMIT ${CALLS_MAX}
) AS latest`

/** How long the settled calls of the last five minutes waited for a worker. */
export async function readClaimWait(postgres: Postgres, nowMs: number): Promise<ClaimWaitView> {
  const range = { fromMs: nowMs - WINDOW_MS, toMs: nowMs }
  const [row] = await postgres.$queryRawUnsafe<Array<{ calls: number; waits: number[] | null }>>(
    WAITS,
    callIdRange(range).from,
    BigInt(range.fromMs),
  )
  const [p50 = null, p95 = null, p99 = null, max = null] = row?.waits ?? []
  return { window_ms: WINDOW_MS, calls: row?.calls ?? 0, p50_ms: p50, p95_ms: p95, p99_ms: p99, max_ms: max }
}
