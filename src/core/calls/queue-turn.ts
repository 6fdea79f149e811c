/** BullMQ's priorities: 0 goes before all others, 1 before 2, up to this one. */
export const PRIORITY_MAX = 2 ** 21 - 1

/** What each open call beyond the share counts as: a call that came so much later. */
const STEP_MS = 50

export interface QueueTurnSettings {
  /** Open calls of an account that wait in order of arrival. */
  accountQueueShare: number
  /** How long a call may wait for a worker. */
  queueWaitMs: number
}

/** When a call that comes now would have its turn. The script that admits it reckons its priority by this. */
export interface QueueTurn {
  /** Open calls of an account that wait in order of arrival. */
  share: number
  /** Its step of time, and the last one that it may be put off to. */
  step: number
  lastStep: number
}

/** The turn of a call that comes at `nowMs`. */
export const queueTurn = (nowMs: number, settings: QueueTurnSettings): QueueTurn => ({
  share: settings.accountQueueShare,
  step: Math.floor(nowMs / STEP_MS),
  lastStep: Math.floor((nowMs + settings.queueWaitMs / 2) / STEP_MS),
})

/**
 * A call's priority in the dispatch queue, so that one account's flood delays no other account. Calls of an account
 * with few open calls have none (0): they are served first, in order of arrival. Each one beyond the share is
 * queued as if it had come later, by a step for every open call too many; so several floods take turns. The step
 * ends at half the queue wait: however many calls its account has open, a call is overtaken only by calls that
 * come within that time. `openCalls` counts this call too. admit.lua does the same.
 *
 * Priorities come round every 29 hours (PRIORITY_MAX steps); calls beyond a share that wait at that moment are
 * overtaken by later ones, for as long as any are allowed to wait.
 */
export function queuePriority(openCalls: number, { share, step, lastStep }: QueueTurn): number {
  const beyond = openCalls - share
  return beyond <= 0 ? 0 : 1 + (Math.min(step + beyond, lastStep) % PRIORITY_MAX)
}
