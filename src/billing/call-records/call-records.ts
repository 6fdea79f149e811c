import type { ClaimWaitView } from '../../core/api/operations.ts'
import type { CallCursor, TimeRange } from '../../core/billing/usage-query.ts'
import type { AttemptRecord, CallStatus } from '../../core/calls/call-job.ts'
import type { CallLabels } from '../../core/calls/call-labels.ts'
import type { TokenRates } from '../../core/catalog/catalog.ts'
import { PRICE_KINDS } from '../../core/catalog/token-rates.ts'
import { callCreatedAt, callIdRange } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { CallRecord as CallRow, Prisma } from '../../platform/prisma-client/client.ts'
import { OF_SESSION, readRecentSessions, SESSION_CALLS_MAX } from './call-sessions.ts'

/** A settled call without its attempts, which name its targets. Amounts in pico-USD, times in unix milliseconds. */
export type ListedCall = Omit<CallRow, 'attempts' | 'labels' | `${string}AtMs`> & {
  labels: CallLabels | null
  admittedAt: number
  claimedAt: number | null
  firstTokenAt: number | null
  finishedAt: number
  settledAt: number
}

export type CallRecord = ListedCall & { attempts: AttemptRecord[] }

/** Filters of calls; null or absent: any. */
export interface CallFilter {
  /** The id of the call, or the client's own id of the request. */
  id?: string | null
  keyId?: string | null
  /** The personal account that created the key. */
  memberId?: string | null
  status?: CallStatus | null
  /** Part of a label: of the title, the address, the preset, the session, or the metadata as `name=value`. */
  tag?: string | null
  /** Matches every alias and suffix of the requested model; in a search, a model name or the served model. */
  model?: string | null
}

export interface CallSearch extends CallFilter {
  accountId?: string | null
  requestId?: string | null
  offerId?: string | null
  minDurationMs?: number | null
}

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
WHERE latest.settled_at_ms > $2`

const SESSION_IDS = `
SELECT id FROM call_records WHERE ${OF_SESSION} ORDER BY admitted_at_ms DESC LIMIT ${SESSION_CALLS_MAX}`

/** The text that a tag is searched in, in lower case. */
const LABELS_TEXT = `lower(concat_ws(E'\\n', labels->>'title', labels->>'referer', labels->>'preset', labels->>'session',
  (SELECT string_agg(pair.key || '=' || pair.value, E'\\n') FROM jsonb_each_text(labels->'metadata') AS pair)))`

export function createCallRecords(postgres: Postgres) {
  const listed = async (
    sql: string,
    values: unknown[],
    orderBy: Prisma.CallRecordOrderByWithRelationInput[],
  ): Promise<ListedCall[]> => {
    const ids = await postgres.$queryRawUnsafe<Array<{ id: string }>>(sql, ...values)
    if (ids.length === 0) return []
    const where = { id: { in: ids.map(({ id }) => id) } }
    const rows = await postgres.callRecord.findMany({ where, orderBy, omit: { attempts: true } })
    return rows.map(toListedCall)
  }
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

    /** Calls of an account admitted in a period, newest first, after a cursor; at most `limit`. */
    async page(
      accountId: string,
      { fromMs, toMs }: TimeRange,
      after: CallCursor | null,
      limit: number,
      { id, tag, model, keyId, memberId, status }: CallFilter = {},
    ): Promise<ListedCall[]> {
      // Nothing sorts before the empty id, so without a cursor only the end of the period is excluded.
      const start = { admittedAtMs: toMs, callId: '' }
      const { admittedAtMs, callId } = after && after.admittedAtMs < toMs ? after : start
      const values: unknown[] = []
      const value = (some: unknown): string => `$${values.push(some)}`
      const conditions = [
        `account_id = ${value(accountId)}`,
        `admitted_at_ms >= ${value(BigInt(fromMs))}::bigint`,
        `admitted_at_ms <= ${value(BigInt(admittedAtMs))}::bigint`,
        `(admitted_at_ms, id) < (${value(BigInt(admittedAtMs))}::bigint, ${value(callId)})`,
      ]
      if (id != null) conditions.push(`${callCreatedAt(id) === null ? 'request_id' : 'id'} = ${value(id)}`)
      if (tag != null)
        conditions.push(`labels IS NOT NULL AND strpos(${LABELS_TEXT}, lower(${value(tag)})) > 0`)
      if (model != null) conditions.push(`requested_model = ANY (${value(namesOf(model))}::text[])`)
      if (keyId != null) conditions.push(`key_id = ${value(keyId)}`)
      if (memberId != null)
        conditions.push(
          `key_id IN (SELECT id FROM api_keys WHERE account_id = $1 AND created_by = ${value(memberId)})`,
        )
      if (status != null) conditions.push(`status = ${value(status)}::call_status`)
      const sql = `SELECT id FROM call_records WHERE ${conditions.join(' AND ')}
        ORDER BY admitted_at_ms DESC, id DESC LIMIT ${value(limit)}::integer`
      return listed(sql, values, [{ admittedAtMs: 'desc' }, { id: 'desc' }])
    },

    // Uses the primary key: ids start with their time, so the table that every call writes to needs no further index.
    // The statement contains only the conditions in use, for the planner's sake.
    /** Calls of all accounts admitted in a period, newest first, after a call's id. */
    async search(
      search: CallSearch,
      range: TimeRange,
      after: string | null,
      limit: number,
    ): Promise<ListedCall[]> {
      const ids = callIdRange(range)
      const values: unknown[] = []
      const value = (some: unknown): string => `$${values.push(some)}`
      const conditions = [
        `id >= ${value(ids.from)}`,
        `id < ${value(after !== null && after < ids.to ? after : ids.to)}`,
        `admitted_at_ms >= ${value(BigInt(range.fromMs))}`,
        `admitted_at_ms < ${value(BigInt(range.toMs))}`,
      ]
      const { accountId, keyId, requestId, status, model, offerId, minDurationMs } = search
      if (accountId != null) conditions.push(`account_id = ${value(accountId)}`)
      if (keyId != null) conditions.push(`key_id = ${value(keyId)}`)
      if (requestId != null) conditions.push(`request_id = ${value(requestId)}`)
      if (status != null) conditions.push(`status = ${value(status)}::call_status`)
      if (model != null) {
        const named = value(model)
        conditions.push(`(requested_model = ${named} OR served_model_id = ${named})`)
      }
      if (offerId != null) conditions.push(`served_offer_id = ${value(offerId)}`)
      if (minDurationMs != null)
        conditions.push(`finished_at_ms - admitted_at_ms >= ${value(minDurationMs)}::integer`)
      const sql = `SELECT id FROM call_records WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ${value(limit)}::integer`
      return listed(sql, values, [{ id: 'desc' }])
    },

    /** The latest calls of a session, in their order. */
    ofSession: (accountId: string, session: string): Promise<ListedCall[]> =>
      listed(SESSION_IDS, [accountId, session], [{ admittedAtMs: 'asc' }, { id: 'asc' }]),

    recentSessions: (accountId: string, sinceMs: number) => readRecentSessions(postgres, accountId, sinceMs),

    /**
     * Calls of some accounts settled after a time, oldest first. Reads only the latest of each account, so that an
     * account with very many costs no more than another.
     */
    settledSince: (accountIds: readonly string[], settledAfterMs: number): Promise<ListedCall[]> =>
      listed(SETTLED_IDS, [accountIds, BigInt(settledAfterMs)], [{ settledAtMs: 'asc' }, { id: 'asc' }]),
  }
}

/** All names that calls may use for a model, given any one of them. */
function namesOf(model: string): string[] {
  const id = model.replace(SUFFIX, '').replace(/^openai\/(?=[^/]+$)/, '')
  const ids = id.includes('/') ? [id] : [id, `openai/${id}`]
  return ids.flatMap((name) => ['', ...SUFFIXES].map((suffix) => name + suffix))
}

const SUFFIXES = [':nitro', ':floor', ':exacto']
const SUFFIX = new RegExp(`(?:${SUFFIXES.join('|')})$`)

function toRecord({ attempts, ...row }: CallRow): CallRecord {
  // Only the settlement store writes these rows, from records of this shape.
  return { ...toListedCall(row), attempts: attempts as unknown as AttemptRecord[] }
}

/** Converts a row of call_records, with its times as numbers. */
export function toListedCall({
  admittedAtMs,
  claimedAtMs,
  firstTokenAtMs,
  finishedAtMs,
  settledAtMs,
  labels,
  ...row
}: Omit<CallRow, 'attempts'>): ListedCall {
  return {
    ...row,
    labels: labels as CallLabels | null,
    admittedAt: Number(admittedAtMs),
    claimedAt: claimedAtMs === null ? null : Number(claimedAtMs),
    firstTokenAt: firstTokenAtMs === null ? null : Number(firstTokenAtMs),
    finishedAt: Number(finishedAtMs),
    settledAt: Number(settledAtMs),
  }
}

/** The rates a call was charged at; null if nothing served it. */
export const ratesOf = (call: ListedCall) => pricesOf(call, 'Rate')

/** The provider's price of a call; null if nothing served it. */
export const costRatesOf = (call: ListedCall) => pricesOf(call, 'Cost')

function pricesOf(call: ListedCall, of: 'Rate' | 'Cost'): TokenRates | null {
  const stored = PRICE_KINDS.map((kind) => [kind, call[`${kind}${of}Pico`]] as const)
  const known = new Map(stored.filter(([, price]) => price !== null))
  return known.has('prompt') && known.has('completion')
    ? (Object.fromEntries(known) as unknown as TokenRates)
    : null
}

/** The clocks of two machines may differ, so durations are clamped to zero. */
const sinceAdmission = (call: ListedCall, unixMs: number): number => Math.max(0, unixMs - call.admittedAt)

/** Durations since admission, as shown in JSON; null where the call ended earlier. */
export const callTimes = (call: ListedCall) => ({
  queued_ms: call.claimedAt === null ? null : sinceAdmission(call, call.claimedAt),
  first_token_ms: call.firstTokenAt === null ? null : sinceAdmission(call, call.firstTokenAt),
  duration_ms: sinceAdmission(call, call.finishedAt),
})

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
