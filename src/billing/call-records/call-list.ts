import type { CallSort } from '../../core/api/calls.ts'
import type { CallPosition } from '../../core/billing/call-cursor.ts'
import { type CallOrder, NEWEST_FIRST } from '../../core/billing/call-position.ts'
import type { TimeRange } from '../../core/billing/usage-query.ts'
import { callCreatedAt, callIdAt, callIdOfResponse, callIdRange, requestedAt } from '../../core/kernel/ids.ts'
import { MINUTE_MS } from '../../core/kernel/time.ts'
import { withIndexPlans } from '../../platform/postgres/custom-plans.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { type CallFilter, callConditions } from './call-filter.ts'
import type { ListedCall } from './call-record.ts'

/** Which calls, in which order, and which page of them. */
export interface CallQuery {
  /** Null: of all accounts. */
  accountId: string | null
  /** They were admitted in this period. */
  range: TimeRange
  filter?: CallFilter
  order?: CallOrder
  /** Absent or null: the first page. */
  position?: CallPosition | null
  /** Without a position, a page of the order by time begins at this moment, unix ms. */
  atMs?: number | null
  limit: number
}

export interface ListedCalls {
  calls: ListedCall[]
  previous: CallPosition | null
  next: CallPosition | null
  /** Where the search stopped before the end of the period, unix ms; null: it did not. */
  searchedToMs: number | null
}

/**
 * A page with a filter looks at so many calls at most, and a page sorted by anything but time is one of the latest so many
 * calls of the period: no index serves these, and a further one would cost each settlement more than these pages are worth.
 */
export const CALLS_SEARCHED_MAX = 50_000

/** From the time in a request's id to the admission of its call: the clocks of two instances, and a long upload. */
const BEFORE_REQUEST_MS = MINUTE_MS
const AFTER_REQUEST_MS = 5 * MINUTE_MS

const FIGURES: Record<Exclude<CallSort, 'time'>, (isAscending: boolean) => string> = {
  cost: () => 'charge_pico',
  tokens: () => '(prompt_tokens::bigint + completion_tokens)',
  duration: () => '(finished_at_ms - admitted_at_ms)',
  // Far above and below every duration.
  first_token: (isAscending) =>
    `coalesce(first_token_at_ms - admitted_at_ms, ${isAscending ? '' : '-'}1000000000000)`,
}

/** Reads calls by id, in the order of the ids. */
type LoadCalls = (ids: readonly string[]) => Promise<ListedCall[]>

/** Where a statement comes to in its order: a call's id, and the figure of the order. */
type Place = Pick<CallPosition, 'value' | 'id'>

/** Lists settled calls page by page, forwards and backwards. Each statement reads a bounded part of an index. */
export function createCallList(postgres: Postgres, load: LoadCalls) {
  /** The places of a page and one more, and the bound of a page that needs one. */
  const read = async (walk: Walk): Promise<{ rows: Place[]; bound: Place | null }> => {
    const places = (reader: PostgresTransaction, [sql, values]: Statement) =>
      reader.$queryRawUnsafe<Place[]>(sql, ...values)
    const isBounded = walk.order.by !== 'time' || conditionsOf(walk, () => '').length > 0
    if (!isBounded) return { rows: await places(postgres, pageStatement(walk, null)), bound: null }
    return withIndexPlans(postgres, async (transaction) => {
      const [bound = null] = await places(transaction, boundStatement(walk))
      return { rows: await places(transaction, pageStatement(walk, bound)), bound }
    })
  }

  /** Whether the key is one of the account: its calls are then found by the key alone. */
  const ownsKey = async ({ accountId, filter }: CallQuery) =>
    accountId === null ||
    filter?.keyId == null ||
    (await postgres.apiKey.count({ where: { id: filter.keyId, accountId } })) > 0

  async function list(query: CallQuery): Promise<ListedCalls> {
    const { accountId, filter } = query
    const callId = callIdOfResponse(filter?.text?.text ?? '')
    if (callCreatedAt(callId) !== null)
      return onlyPage(
        (await load([callId])).filter((call) => accountId === null || call.accountId === accountId),
      )
    if (!(await ownsKey(query))) return onlyPage([])

    const requestedMs = requestedAt(filter?.requestId ?? filter?.text?.text ?? '')
    if (requestedMs === null) return search(query)
    const range = {
      fromMs: Math.max(query.range.fromMs, requestedMs - BEFORE_REQUEST_MS),
      toMs: Math.min(query.range.toMs, requestedMs + AFTER_REQUEST_MS),
    }
    // A client may give an id of the same form to a request that it repeats later, or to a label.
    const { calls } = await search({ ...query, range, position: null, atMs: null })
    return calls.length > 0 ? onlyPage(calls) : search(query)
  }

  async function search(query: CallQuery): Promise<ListedCalls> {
    const { order = NEWEST_FIRST, limit } = query
    const isByTime = order.by === 'time'
    const position = query.position ?? (isByTime ? startOf(query, order) : null)
    const isBackwards = position?.isEnd ?? false
    const walk: Walk = { ...query, order, position, isUp: order.isAscending !== isBackwards }
    const { rows, bound } = await read(walk)

    const shown = rows.slice(0, limit)
    const isFull = rows.length > limit
    const bounded = bound && isByTime ? justBefore(bound, walk, walk.isUp) : null
    const beyond = isFull ? (shown.at(-1) ?? null) : bounded
    // Backwards to the very first call, a page would be short: the first page is shown instead.
    if (isBackwards && beyond === null && shown.length < limit)
      return search({ ...query, position: null, atMs: null })
    if (isBackwards) shown.reverse()
    const backwards = isBackwards ? beyond : position && (shown[0] ?? position)
    const forwards = isBackwards ? (shown.at(-1) ?? justBefore(position!, walk, order.isAscending)) : beyond
    return {
      calls: await load(shown.map(({ id }) => id)),
      previous: backwards && { ...backwards, isEnd: true },
      next: forwards && { ...forwards, isEnd: false },
      searchedToMs: bound && !(isByTime && isFull) ? timeOf(bound, walk) : null,
    }
  }
  return list
}

const onlyPage = (calls: ListedCall[]): ListedCalls => ({
  calls,
  previous: null,
  next: null,
  searchedToMs: null,
})

/** The position of a page that begins at a moment; null where that is the first page. */
function startOf(query: CallQuery, { isAscending }: CallOrder): CallPosition | null {
  const { atMs = null, range } = query
  const isInside = atMs !== null && (isAscending ? atMs > range.fromMs : atMs < range.toMs)
  return isInside ? { isEnd: false, value: BigInt(atMs), id: isById(query) ? callIdAt(atMs) : '' } : null
}

/** A way along an index, up or down from a position. */
interface Walk extends CallQuery {
  order: CallOrder
  position: CallPosition | null
  /** Towards later calls, or towards larger figures. */
  isUp: boolean
}

type Statement = [sql: string, values: unknown[]]
type AddValue = (some: unknown) => string

const parameters = () => {
  const values: unknown[] = []
  const value: AddValue = (some) => `$${values.push(some)}`
  return { values, value }
}

/** The calls of all accounts are ordered by their ids, which begin with their time; those of one by the time itself. */
const isById = ({ accountId, filter }: CallQuery): boolean => accountId === null && filter?.keyId == null

/** A position from which a walk meets this place first. */
const justBefore = ({ value, id }: Place, walk: Walk, isUp: boolean): Place =>
  walk.order.by === 'time' && isById(walk)
    ? { value, id: isUp ? id.slice(0, -1) : `${id}~` }
    : { value: isUp ? value : value + 1n, id: '' }

const timeOf = ({ value, id }: Place, walk: Walk): number =>
  (isById(walk) ? callCreatedAt(id) : null) ?? Number(value)

/** The calls of one key, of one account or of all in the period: a range of an index. */
function inScope({ accountId, filter, range }: CallQuery, value: AddValue): string[] {
  const times = [
    `admitted_at_ms >= ${value(BigInt(range.fromMs))}::bigint`,
    `admitted_at_ms < ${value(BigInt(range.toMs))}::bigint`,
  ]
  if (filter?.keyId != null) return [`key_id = ${value(filter.keyId)}`, ...times]
  if (accountId !== null) return [`account_id = ${value(accountId)}`, ...times]
  const ids = callIdRange(range)
  return [`id >= ${value(ids.from)}`, `id < ${value(ids.to)}`, ...times]
}

const conditionsOf = ({ filter = {}, accountId }: CallQuery, value: AddValue) =>
  callConditions(filter, accountId, value)

/** What is after the position on a walk by time; with `isRough` also calls of its very millisecond, for the index alone. */
function byTimeFrom(walk: Walk, value: AddValue, { isRough }: { isRough: boolean }): string[] {
  const { position, isUp } = walk
  if (position === null || walk.order.by !== 'time') return []
  const sign = isUp ? '>' : '<'
  if (isById(walk)) return [`id ${sign} ${value(position.id)}`]
  const time = `${value(position.value)}::bigint`
  const rough = `admitted_at_ms ${sign}= ${time}`
  return isRough ? [rough] : [rough, `(admitted_at_ms, id) ${sign} (${time}, ${value(position.id)})`]
}

/** The way along the index: with the order by time, else down from the latest call. */
const indexWay = (walk: Walk) => (walk.order.by === 'time' && walk.isUp ? 'ASC' : 'DESC')

/** The first call that is too far for a page to look at. It is found in the index alone. */
function boundStatement(walk: Walk): Statement {
  const { values, value } = parameters()
  const [column, place] = isById(walk)
    ? ['id', `id, 0::bigint AS value`]
    : ['admitted_at_ms', `'' AS id, admitted_at_ms AS value`]
  const within = [...inScope(walk, value), ...byTimeFrom(walk, value, { isRough: true })].join(' AND ')
  const sql = `SELECT ${place} FROM call_records AS latest WHERE ${within}
    ORDER BY ${column} ${indexWay(walk)} OFFSET ${CALLS_SEARCHED_MAX} LIMIT 1`
  return [sql, values]
}

/** The places of a page and one more, before the bound. */
function pageStatement(walk: Walk, bound: Place | null): Statement {
  const { order, position, isUp, limit } = walk
  const { values, value } = parameters()
  const conditions = [
    ...inScope(walk, value),
    ...byTimeFrom(walk, value, { isRough: false }),
    ...conditionsOf(walk, value),
  ]
  if (bound) {
    const sign = indexWay(walk) === 'ASC' ? '<' : '>'
    conditions.push(
      isById(walk) ? `id ${sign} ${value(bound.id)}` : `admitted_at_ms ${sign} ${value(bound.value)}::bigint`,
    )
  }
  const isByTime = order.by === 'time'
  const figure = order.by === 'time' ? 'admitted_at_ms' : FIGURES[order.by](order.isAscending)
  const [way, sign] = isUp ? ['ASC', '>'] : ['DESC', '<']
  if (position && !isByTime)
    conditions.push(`(${figure}, id) ${sign} (${value(position.value)}::bigint, ${value(position.id)})`)
  const sql = `SELECT id, ${figure} AS value FROM call_records AS latest WHERE ${conditions.join(' AND ')}
    ORDER BY ${isByTime && isById(walk) ? '' : `${figure} ${way}, `}id ${way} LIMIT ${value(limit + 1)}::integer`
  return [sql, values]
}
