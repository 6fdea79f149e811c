/** BullMQ's priorities: 0 goes before all others, 1 before 2, up to this one. */
const PRIORITY_MAX = 2 ** 21 - 1

/** What each open call beyond the share counts as: a call that came so much later. */
const STEP_MS = 50

export interface QueueTurnSettings {
  /** Open calls of an account that wait in order of arrival. */
  accountQueueShare: number
  /** How long a call may wait for a worker. */
  queueWaitMs: number
}

/**
 * A call's priority in the dispatch queue, so that one account's flood delays no other account. Calls of an account
 * with few open calls have none (0): they are served first, in order of arrival. Each one beyond the share is
 * queued as if it had come later, by a step for every open call too many; so several floods take turns. The step
 * ends at half the queue wait: however many calls its account has open, a call is overtaken only by calls that
 * come within that time. `openCalls` counts this call too.
 *
 * Priorities come round every 29 hours (PRIORITY_MAX steps); calls beyond a share that wait at that moment are
 * overtaken by later ones, for as long as any are allowed to wait.
 */
export function queuePriority(openCalls: number, nowMs: number, settings: QueueTurnSettings): number {
  const beyond = openCalls - settings.accountQueueShare
  if (beyond <= 0) return 0
  const delayMs = Math.min(beyond * STEP_MS, settings.queueWaitMs / 2)
  return 1 + (Math.floor((nowMs + delayMs) / STEP_MS) % PRIORITY_MAX)
}
