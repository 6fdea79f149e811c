import { ApiError } from '../../core/kernel/errors.ts'
import { createAccountTurns } from './account-turns.ts'

/** Bounds the calls one API instance has: those that are being admitted, and those that wait for their answer. */
export interface LoadBound {
  /** Calls that are being admitted, or wait for their turn to be. */
  readonly entering: number
  /**
   * Runs an admission in its account's turn; it counts from now until it is done. Throws `overloaded` when there is
   * no room for it, or no turn comes in time.
   */
  enter<T>(accountId: string, admission: () => Promise<T>): Promise<T>
}

/** Enough to keep Redis busy, and few enough that whoever comes next waits for a few milliseconds of work. */
const TURNS = { atOnce: 64, perAccount: 16 }
const TURN_WAIT_MS = 5_000

/** `waiting` says how many calls wait for their answer. */
export function createLoadBound(
  waiting: () => number,
  max: number,
  turns = createAccountTurns(TURNS),
  turnWaitMs = TURN_WAIT_MS,
): LoadBound {
  let entering = 0
  const turnOf = async (accountId: string): Promise<() => void> => {
    const tooLong = new AbortController()
    const timer = setTimeout(() => tooLong.abort(overloaded()), turnWaitMs)
    try {
      return await turns.take(accountId, tooLong.signal)
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    get entering() {
      return entering
    },
    async enter(accountId, admission) {
      if (waiting() + entering >= max) throw overloaded()
      entering += 1
      try {
        const endTurn = await turnOf(accountId)
        try {
          return await admission()
        } finally {
          endTurn()
        }
      } finally {
        entering -= 1
      }
    },
  }
}

const overloaded = () =>
  new ApiError('overloaded', 'This gateway serves as many calls as it can. Retry shortly.', {
    retryAfterSeconds: 1,
  })
