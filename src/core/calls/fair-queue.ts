import type { Candidate } from './call-job.ts'

/** BullMQ's priorities: 0 goes before all others, 1 before 2, up to this one. */
export const PRIORITY_MAX = 2 ** 21 - 1

/** Each lane has a half of the priorities, which it uses in a circle: those of `flex` are above this one. */
export const LANE_STEPS = 2 ** 20

/**
 * The lanes of the queue: the steps of `flex` come after all of the others. A step is the time by which each open call
 * beyond the share delays a call's turn.
 */
const LANES = { default: { firstStep: 0, stepMs: 50 }, flex: { firstStep: LANE_STEPS, stepMs: 500 } } as const
export type QueueLane = keyof typeof LANES

export interface QueueTurnSettings {
  /** Open calls of an account that wait in order of arrival. */
  accountQueueShare: number
  /** Maximum wait for a worker. */
  queueWaitMs: number
  /** The same in the lane `flex`. */
  flexWaitMs: number
}

/** The turn of a call that arrives now. admit.lua computes its priority from it. */
export interface QueueTurn {
  /** Open calls of an account that wait in order of arrival. */
  share: number
  /** The current time step, and the last step that the call may be delayed to. */
  step: number
  lastStep: number
}

/** The lane of a call: of the slower service tier if the candidate that is tried first sells it. */
export const laneOf = ([first]: ReadonlyArray<Pick<Candidate, 'tier'>>): QueueLane =>
  first?.tier?.name === 'flex' ? 'flex' : 'default'

/** How long a call waits for a worker. */
export const laneWaitMs = (lane: QueueLane, { queueWaitMs, flexWaitMs }: QueueTurnSettings): number =>
  lane === 'flex' ? flexWaitMs : queueWaitMs

/** The turn of a call that arrives at `nowMs`. */
export function queueTurn(
  nowMs: number,
  settings: QueueTurnSettings,
  lane: QueueLane = 'default',
): QueueTurn {
  const { firstStep, stepMs } = LANES[lane]
  const step = firstStep + (Math.floor(nowMs / stepMs) % LANE_STEPS)
  const delays = Math.floor(laneWaitMs(lane, settings) / 2 / stepMs)
  return {
    share: lane === 'flex' ? 0 : settings.accountQueueShare,
    step,
    lastStep: Math.min(step + delays, firstStep + LANE_STEPS - 2),
  }
}

/**
 * A call's priority in the dispatch queue, which prevents a flood of one account from delaying others. Calls of an
 * account with few open calls have none (0): they are served first, in order of arrival. Each call beyond the share is
 * queued as if it had arrived later, by one step for every open call beyond it, so several floods take turns. The delay
 * ends at half the queue wait: however many open calls its account has, a call is overtaken only by calls of its lane that
 * arrive within that time. In the lane `flex` no call is within a share, so that each waits behind all of the other lane.
 * `openCalls` includes this call. admit.lua computes the same.
 *
 * Priorities repeat every 14 hours, those of `flex` every 6 days (LANE_STEPS steps); calls with a priority that wait at that
 * moment are overtaken by later ones of their lane, for at most the maximum queue wait.
 */
export function queuePriority(openCalls: number, { share, step, lastStep }: QueueTurn): number {
  const beyond = openCalls - share
  return beyond <= 0 ? 0 : 1 + (Math.min(step + beyond, lastStep) % PRIORITY_MAX)
}
