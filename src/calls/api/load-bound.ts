import type { SharedRoom } from '../../core/kernel/shared-room.ts'
import { createAccountTurns } from './account-turns.ts'
import { overloaded, tooManyCalls } from './overloaded.ts'

export type LoadBound = ReturnType<typeof createLoadBound>

/** Enough to keep Redis busy, and few enough that the next caller waits only a few milliseconds. */
const TURNS = { atOnce: 64, perAccount: 16 }
const TURN_WAIT_MS = 5_000
/** Time for PostgreSQL to return and for part of the backlog to be settled. */
const BACKLOG_RETRY_SECONDS = 10

/** An account with at most this many calls at an instance always finds a place there. */
export const FEW_CALLS = 8
/** One account alone may use eight ninths of the places that are not reserved for others. */
const PLACES_SHARE = 8

/**
 * Limits the calls of one API instance, and those of each account: calls in admission, and calls that wait for their
 * response, whose places the CallHub counts.
 */
export function createLoadBound(
  places: SharedRoom,
  turns = createAccountTurns(TURNS),
  turnWaitMs = TURN_WAIT_MS,
  isBacklogFull: () => boolean = () => false,
) {
  let entering = 0
  return {
    /** Calls that are being admitted, or wait for their turn. */
    get entering() {
      return entering
    },
    /**
     * Runs an admission in its account's turn; the call counts from now until it is done. Throws `overloaded` if there
     * is no place for it, or no turn in time, and while too many calls wait to be settled.
     */
    async enter<T>(accountId: string, admission: () => Promise<T>): Promise<T> {
      if (isBacklogFull()) throw overloaded('The gateway cannot take calls right now.', BACKLOG_RETRY_SECONDS)
      if (!places.fits(accountId, 1, PLACES_SHARE)) throw tooManyCalls()
      places.add(accountId, 1)
      entering += 1
      try {
        const endTurn = await turns.take(accountId, turnWaitMs)
        try {
          return await admission()
        } finally {
          endTurn()
        }
      } finally {
        places.add(accountId, -1)
        entering -= 1
      }
    },
  }
}
