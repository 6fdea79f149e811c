import type { ClaimWaitView } from '../../core/api/operations.ts'
import type { CallCursor, TimeRange } from '../../core/billing/usage-query.ts'
import type { AttemptRecord, CallStatus } from '../../core/calls/call-job.ts'
import type { CallLabels } from '../../core/calls/call-labels.ts'
import type { TokenRates } from '../../core/catalog/catalog.ts'
import { callCreatedAt, callIdRange } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { CallRecord as CallRow, Prisma } from '../../platform/prisma-client/client.ts'

/** A settled call without its attempts, which say where it went. Amounts in pico-USD, times in unix milliseconds. */
export type ListedCall = Omit<CallRow, 'attempts' | 'labels' | `${string}AtMs`> & {
  labels: CallLabels | null
  admittedAt: number
  claimedAt: number | null
  firstTokenAt: number | null
  finishedAt: number
  settledAt: number
}

export type CallRecord = ListedCall & { attempts: AttemptRecord[] }

/** Which calls; null or absent: any. */
export interface CallFilter {
  /** Of the call, or the client's own of the request. */
  id?: string | null
  keyId?: string | null
  /** The personal account of who made the key. */
  memberId?: string | null
  status?: CallStatus | null
  /** A part of what the client said about it: of its title, address, or metadata as `name=value`. */
  tag?: string | null
  /** By whatever alias or with whatever suffix it was asked for; a search takes the name itself, also as served. */
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

/** Of each account. */
const LATEST_MAX = 100

const SETTLED_IDS = `
SELECT latest.id FROM unnest($1::text[]) AS account (id)
CROSS JOIN LATERAL (
  SELECT id, settled_at_ms FROM call_records
  WHERE account_id = account.id ORDER BY admitted_at_ms DESC LIMIT ${LATEST_MAX}
) AS latest
WHERE latest.settled_at_ms > $2`

/** What a tag is searched in, in lower case. */
const LABELS_TEXT = `lower(concat_ws(E'\\n', labels->>'title', labels->>'referer',
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

    /** The latest calls that carried this request id, at most ten. Clients may send one twice. Reads the whole table. */
    async findByRequestId(requestId: string): Promise<CallRecord[]> {
      const rows = await postgres.callRecord.findMany({
        where: { requestId },
        orderBy: { admittedAtMs: 'desc' },
        take: 10,
      })
      return rows.map(toRecord)
    },

    /** Calls of an account admitted in a span of time, newest first, after a cursor; at most `limit`. */
    async page(
      accountId: string,
      { fromMs, toMs }: TimeRange,
      after: CallCursor | null,
      limit: number,
      { id, tag, model, keyId, memberId, status }: CallFilter = {},
    ): Promise<ListedCall[]> {
      // Nothing sorts before the empty id, so without a cursor just the end of the span is left out.
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

    // Walks the primary key: ids begin with their time, so no index of its own is needed on the table that every call
    // writes to. Only the conditions that are asked for are in the statement, for the planner's sake.
    /** Calls of any account admitted in a span of time, newest first, after a call's id. */
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

    /**
     * Calls of some accounts that were settled after a moment, oldest first: of each account's latest, so that one
     * with very many costs no more than another.
     */
    settledSince: (accountIds: readonly string[], settledAfterMs: number): Promise<ListedCall[]> =>
      listed(SETTLED_IDS, [accountIds, BigInt(settledAfterMs)], [{ settledAtMs: 'asc' }, { id: 'asc' }]),
  }
}

/** Every name that calls may give a model, whichever of them is given here. */
function namesOf(model: string): string[] {
  const id = model.replace(SUFFIX, '').replace(/^openai\/(?=[^/]+$)/, '')
  const ids = id.includes('/') ? [id] : [id, `openai/${id}`]
  return ids.flatMap((name) => ['', ...SUFFIXES].map((suffix) => name + suffix))
}

const SUFFIXES = [':nitro', ':floor', ':exacto']
const SUFFIX = new RegExp(`(?:${SUFFIXES.join('|')})$`)

function toRecord({ attempts, ...row }: CallRow): CallRecord {
  // Written by the settlement store alone, from records of this shape.
  return { ...toListedCall(row), attempts: attempts as unknown as AttemptRecord[] }
}

/** A row of call_records, its times as numbers. */
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

/** The rates a call was charged at; null where nothing served it. */
export const ratesOf = (call: ListedCall): TokenRates | null =>
  pricesOf({
    prompt: call.promptRatePico,
    completion: call.completionRatePico,
    promptAudio: call.promptAudioRatePico,
    promptImage: call.promptImageRatePico,
    cacheRead: call.cacheReadRatePico,
    cacheWrite: call.cacheWriteRatePico,
    units: call.unitsRatePico,
  })

/** What we pay its provider; null where nothing served it. */
export const costRatesOf = (call: ListedCall): TokenRates | null =>
  pricesOf({
    prompt: call.promptCostPico,
    completion: call.completionCostPico,
    promptAudio: call.promptAudioCostPico,
    promptImage: call.promptImageCostPico,
    cacheRead: call.cacheReadCostPico,
    cacheWrite: call.cacheWriteCostPico,
    units: call.unitsCostPico,
  })

function pricesOf(stored: Record<keyof TokenRates, bigint | null>): TokenRates | null {
  if (stored.prompt === null || stored.completion === null) return null
  const known = Object.entries(stored).filter(([, price]) => price !== null)
  return Object.fromEntries(known) as unknown as TokenRates
}

/** Two machines' clocks may differ; no duration is shown below zero for that. */
const sinceAdmission = (call: ListedCall, unixMs: number): number => Math.max(0, unixMs - call.admittedAt)

/** Durations since admission, as JSON shows them; null where the call did not get that far. */
export const callTimes = (call: ListedCall) => ({
  queued_ms: call.claimedAt === null ? null : sinceAdmission(call, call.claimedAt),
  first_token_ms: call.firstTokenAt === null ? null : sinceAdmission(call, call.firstTokenAt),
  duration_ms: sinceAdmission(call, call.finishedAt),
})

const WINDOW_MS = 300_000
/** Of more calls the latest; their order of magnitude does not change with more. */
const CALLS_MAX = 20_000

const WAITS = `
SELECT count(*)::integer AS "calls", percentile_disc(ARRAY[0.5, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY wait) AS "waits"
FROM (
  SELECT greatest(0, claimed_at_ms - admitted_at_ms)::double precision AS wait FROM call_records
  WHERE id >= $1 AND admitted_at_ms >= $2::bigint AND claimed_at_ms IS NOT NULL
  ORDER BY id DESC LIMIT ${CALLS_MAX}
) AS latest`

/** How long calls of the last five minutes waited for a worker; those that are settled. */
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
