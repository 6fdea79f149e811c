/** BullMQ's priorities: 0 goes before all others, 1 before 2, up to this one. */
export const PRIORITY_MAX = 2 ** 21 - 1

/** Each open call beyond the share delays a call's turn by this much. */
const STEP_MS = 50

export interface QueueTurnSettings {
  /** Open calls of an account that wait in order of arrival. */
  accountQueueShare: number
  /** Maximum wait for a worker. */
  queueWaitMs: number
}

/** The turn of a call that arrives now. admit.lua computes its priority from it. */
export interface QueueTurn {
  /** Open calls of an account that wait in order of arrival. */
  share: number
  /** The current time step, and the last step that the call may be delayed to. */
  step: number
  lastStep: number
}

/** The turn of a call that arrives at `nowMs`. */
export const queueTurn = (nowMs: number, settings: QueueTurnSettings): QueueTurn => ({
  share: settings.accountQueueShare,
  step: Math.floor(nowMs / STEP_MS),
  lastStep: Math.floor((nowMs + settings.queueWaitMs / 2) / STEP_MS),
})

/**
 * A call's priority in the dispatch queue, which prevents a flood of one account from delaying others. Calls of an
 * account with few open calls have none (0): they are served first, in order of arrival. Each call beyond the share is
 * queued as if it had arrived later, by one step for every open call beyond it, so several floods take turns. The delay
 * ends at half the queue wait: however many open calls its account has, a call is overtaken only by calls that arrive
 * within that time. `openCalls` includes this call. admit.lua computes the same.
 *
 * Priorities repeat every 29 hours (PRIORITY_MAX steps); calls beyond a share that wait at that moment are overtaken by
 * later ones, for at most the maximum queue wait.
 */
export function queuePriority(openCalls: number, { share, step, lastStep }: QueueTurn): number {
  const beyond = openCalls - share
  return beyond <= 0 ? 0 : 1 + (Math.min(step + beyond, lastStep) % PRIORITY_MAX)
}
