import { setTimeout as delay } from 'node:timers/promises'
import type { CallRecord } from './call-record.ts'
import type { CallRecords } from './call-records.ts'

type FoundCall =
  | { kind: 'settled'; call: CallRecord }
  /** The call runs or waits for its settlement. */
  | { kind: 'unsettled' }
  /** The account has no such call. */
  | { kind: 'unknown' }

/** Runs one read of PostgreSQL, for example within a concurrency limit. */
export type RunRead = <Result>(read: () => Promise<Result>) => Promise<Result>

/** Finds one call for its owner. `run` executes its reads. Rejects when PostgreSQL or Redis is away, and as `run` does. */
export type CallLookup = (callId: string, accountId: string | null, run?: RunRead) => Promise<FoundCall>

export interface CallLookupOptions {
  calls: Pick<CallRecords, 'find'>
  /** For each call, whether its hold is among the account's open ones. */
  areHeld: (accountId: string, callIds: readonly string[]) => Promise<readonly boolean[]>
  clock: () => number
  /** How long to wait for a settlement that is under way. */
  waitMs?: number
}

const WAIT_MS = 2_000
const LOOK_AGAIN_MIN_MS = 10
const LOOK_AGAIN_MAX_MS = 160

/**
 * Finds a call even directly after its response: while its hold is open it is not settled, so the lookup waits, polling
 * Redis only. The hold belongs to the account, so the call of another account is as unknown as one that does not exist.
 * Without an account, any settled call is found.
 */
export function createCallLookup(options: CallLookupOptions): CallLookup {
  const { calls, areHeld, clock, waitMs = WAIT_MS } = options
  const isHeld = lookTogether(areHeld)
  const find = async (callId: string, accountId: string | null): Promise<FoundCall | null> => {
    const call = await calls.find(callId)
    if (!call) return null
    return accountId === null || call.accountId === accountId
      ? { kind: 'settled', call }
      : { kind: 'unknown' }
  }
  /** Resolves to whether the hold has closed, which happens after the settlement committed. */
  const closed = async (accountId: string, callId: string): Promise<boolean> => {
    const deadline = clock() + waitMs
    for (let pauseMs = LOOK_AGAIN_MIN_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_AGAIN_MAX_MS)) {
      if (!(await isHeld(accountId, callId))) return true
      if (clock() >= deadline) return false
      await delay(pauseMs)
    }
  }
  return async (callId, accountId, run = (read) => read()) => {
    const found = await run(() => find(callId, accountId))
    if (found) return found
    if (accountId === null) return { kind: 'unknown' }
    const isClosed = await closed(accountId, callId)
    const settled = await run(() => find(callId, accountId))
    return settled ?? { kind: isClosed ? 'unknown' : 'unsettled' }
  }
}

/** Looks up one hold, in one request with all others of its account within a few milliseconds. */
function lookTogether(areHeld: CallLookupOptions['areHeld']) {
  const looks = new Map<string, { callIds: string[]; held: Promise<ReadonlySet<string>> }>()
  const begin = (accountId: string) => {
    const callIds: string[] = []
    const held = delay(LOOK_AGAIN_MIN_MS).then(async () => {
      looks.delete(accountId)
      const answers = await areHeld(accountId, callIds)
      return new Set(callIds.filter((_, index) => answers[index]))
    })
    return { callIds, held }
  }
  return async (accountId: string, callId: string): Promise<boolean> => {
    const look = looks.get(accountId) ?? begin(accountId)
    looks.set(accountId, look)
    look.callIds.push(callId)
    return (await look.held).has(callId)
  }
}
