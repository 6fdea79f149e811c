import { setTimeout as delay } from 'node:timers/promises'
import type { CallRecord, CallRecords } from './call-records.ts'

export type FoundCall =
  | { kind: 'settled'; call: CallRecord }
  /** It runs, or waits for its settlement. */
  | { kind: 'unsettled' }
  /** There is no such call of this account. */
  | { kind: 'unknown' }

/** Finds one call for its owner. Rejects when PostgreSQL or Redis is away. */
export type CallLookup = (callId: string, accountId: string | null) => Promise<FoundCall>

export interface CallLookupOptions {
  calls: Pick<CallRecords, 'find'>
  /** Whether a call's hold is among an account's open ones. */
  isHeld: (accountId: string, callId: string) => Promise<boolean>
  clock: () => number
  /** How long a call whose settlement is on its way is waited for. */
  waitMs?: number
}

const WAIT_MS = 2_000
const LOOK_AGAIN_MIN_MS = 10
const LOOK_AGAIN_MAX_MS = 160

/**
 * Looks a call up right after its answer, too: while its hold is open it is not settled yet, and is waited for a
 * while. The hold is among the account's own, so another account's call is as unknown as one that never was.
 * Without an account any call is found, once it is settled.
 */
export function createCallLookup({ calls, isHeld, clock, waitMs = WAIT_MS }: CallLookupOptions): CallLookup {
  const find = async (callId: string, accountId: string | null): Promise<FoundCall | null> => {
    const call = await calls.find(callId)
    if (!call) return null
    return accountId === null || call.accountId === accountId
      ? { kind: 'settled', call }
      : { kind: 'unknown' }
  }
  return async (callId, accountId) => {
    const found = await find(callId, accountId)
    if (found) return found
    if (accountId === null) return { kind: 'unknown' }
    const deadline = clock() + waitMs
    for (let pauseMs = LOOK_AGAIN_MIN_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_AGAIN_MAX_MS)) {
      // A hold closes after its settlement has committed, so the hold is looked at first.
      const held = await isHeld(accountId, callId)
      const settled = await find(callId, accountId)
      if (settled) return settled
      if (!held) return { kind: 'unknown' }
      if (clock() >= deadline) return { kind: 'unsettled' }
      await delay(pauseMs)
    }
  }
}
