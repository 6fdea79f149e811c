import { randomFillSync, randomUUID } from 'node:crypto'
import { decodeTime, encodeTime, isValid, monotonicFactory } from 'ulid'

const CALL_ID_PREFIX = 'chatcmpl_'
/** One id for the completion, its queue job, its hold, its ledger transaction and its log lines. */
export type CallId = `${typeof CALL_ID_PREFIX}${string}`

const RANDOM_BYTES = 4_096
const random = Buffer.allocUnsafe(RANDOM_BYTES)
let randomUsed = RANDOM_BYTES

/** A random byte. They are drawn in bulk: a ULID takes sixteen. */
function randomByte(): number {
  if (randomUsed === RANDOM_BYTES) {
    randomFillSync(random)
    randomUsed = 0
  }
  return random[randomUsed++]!
}

/** A random number in [0, 1) with the resolution of one byte. */
const randomFraction = () => randomByte() / 256

/** A random name of so many bytes, base64url. */
export const randomName = (bytes: number): string =>
  Buffer.from(Array.from({ length: bytes }, randomByte)).toString('base64url')

const nextUlid = monotonicFactory(randomFraction)

/** Maximum time from creating an id to admission, including a change of the machine's clock. */
const SLACK_MS = 3_600_000
/** Separate, because call ids use another clock. */
let nextCallUlid = monotonicFactory(randomFraction)
let latestMs = 0

/**
 * A new call id. Ids of one process sort by creation time, which is `nowMs` if given; when the clock is set back by more
 * than half an hour, they follow it, since calls are found by the time in their ids (see `callIdRange`). BullMQ allows no
 * `:` in job ids; ULIDs contain none.
 */
export function newCallId(nowMs: number = Date.now()): CallId {
  // Also when the latest time was none, as that of a clock that is not set.
  if (!(nowMs >= latestMs - SLACK_MS / 2)) {
    nextCallUlid = monotonicFactory(randomFraction)
    latestMs = nowMs
  }
  latestMs = Math.max(latestMs, nowMs)
  return `${CALL_ID_PREFIX}${nextCallUlid(nowMs)}`
}

export type IdPrefix =
  | 'acct'
  | 'key'
  | 'op'
  | 'evt'
  | 'pay'
  | 'card'
  | 'inv'
  | 'hook'
  | 'guard'
  | 'pkey'
  | 'plat'
  | 'grant'
  | 'preset'
  | 'echg'
  | 'api'
  | 'settle'
  | 'act'
  | 'inv'
  | 'cmd'
  | 'mail'
  | 'audit'
  | 'alarm'
  | 'adest'
  | 'proc'
  | 'worker'

/** A new id of another kind: `acct_…`, `key_…`. */
export const newId = (prefix: IdPrefix): string => `${prefix}_${nextUlid()}`

/** The id of a call's response on the responses surface. Other texts are returned unchanged. */
export const responseIdOf = (callId: string): string => callId.replace(CALL_ID_PREFIX, 'resp_')

/** The call of a response's id. Other texts, among them ids of calls, are returned unchanged. */
export const callIdOfResponse = (id: string): string => id.replace(/^resp_(?=\w{26}$)/, CALL_ID_PREFIX)

/** The creation time of a call's id, unix ms, which a ULID starts with. Null if it is not a call id. */
export function callCreatedAt(callId: string): number | null {
  if (!callId.startsWith(CALL_ID_PREFIX)) return null
  const ulid = callId.slice(CALL_ID_PREFIX.length)
  return isValid(ulid) ? decodeTime(ulid) : null
}

const TIME_CHARACTERS = 10

/** The possible ids of calls admitted in a period: `id >= from AND id < to`. They start with their time. */
export function callIdRange({ fromMs, toMs }: { fromMs: number; toMs: number }): {
  from: string
  to: string
} {
  return { from: callIdAt(fromMs - SLACK_MS), to: callIdAt(toMs + SLACK_MS) }
}

/** The id of a request that brought none: a UUID of version 7, which begins with its time. */
export const newRequestId = (nowMs: number = Date.now()): string => {
  const time = nowMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

const TIMED_UUID = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** When a request came, unix ms; null: its id has no time. */
export function requestedAt(requestId: string): number | null {
  const [, high, low] = TIMED_UUID.exec(requestId) ?? []
  return high && low ? Number.parseInt(high + low, 16) : null
}

/** What the ids of calls created at a time begin with. */
export const callIdAt = (unixMs: number): string =>
  `${CALL_ID_PREFIX}${encodeTime(Math.max(0, unixMs), TIME_CHARACTERS)}`
