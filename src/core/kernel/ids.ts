import { randomFillSync } from 'node:crypto'
import { monotonicFactory } from 'ulid'

/** One id for the completion, its queue job, its hold, its ledger transaction and its log lines. */
export type CallId = `chatcmpl_${string}`

const RANDOM_BYTES = 4_096
const random = Buffer.allocUnsafe(RANDOM_BYTES)
let randomUsed = RANDOM_BYTES

/** A random number in [0, 1) with the resolution of one byte. Bytes are drawn in bulk: a ULID takes sixteen. */
function randomFraction(): number {
  if (randomUsed === RANDOM_BYTES) {
    randomFillSync(random)
    randomUsed = 0
  }
  return random[randomUsed++]! / 256
}

const nextUlid = monotonicFactory(randomFraction)
/** Separate, because call ids use another clock. */
const nextCallUlid = monotonicFactory(randomFraction)

/**
 * A new call id. Ids of one process sort by creation time, which is `nowMs` if given. BullMQ allows no
 * `:` in job ids; ULIDs contain none.
 */
export const newCallId = (nowMs?: number): CallId => `chatcmpl_${nextCallUlid(nowMs)}`

export type IdPrefix =
  | 'acct'
  | 'key'
  | 'evt'
  | 'pay'
  | 'hook'
  | 'pkey'
  | 'api'
  | 'settle'
  | 'act'
  | 'cmd'
  | 'audit'
  | 'alarm'
  | 'proc'
  | 'worker'

/** A new id of another kind: `acct_…`, `key_…`. */
export const newId = (prefix: IdPrefix): string => `${prefix}_${nextUlid()}`
