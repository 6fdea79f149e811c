import type { SharedRoom } from '../../core/kernel/shared-room.ts'
import { createAccountTurns } from './account-turns.ts'
import { overloaded, tooManyCalls } from './overloaded.ts'

export type LoadBound = ReturnType<typeof createLoadBound>

/** Enough to keep Redis busy, and few enough that whoever comes next waits for a few milliseconds of work. */
const TURNS = { atOnce: 64, perAccount: 16 }
const TURN_WAIT_MS = 5_000
/** PostgreSQL has to come back first, and a part of the backlog to be settled. */
const BACKLOG_RETRY_SECONDS = 10

/** Of the places of an instance, an account that has no more calls there than this finds one. */
export const FEW_CALLS = 8
/** One account alone has eight ninths of what is not kept for others. */
const PLACES_SHARE = 8

/**
 * Bounds the calls one API instance has, and of them those of an account: those that are being admitted, and those that
 * wait for their answer, whose places are counted by the CallHub.
 */
export function createLoadBound(
  places: SharedRoom,
  turns = createAccountTurns(TURNS),
  turnWaitMs = TURN_WAIT_MS,
  isBacklogFull: () => boolean = () => false,
) {
  let entering = 0
  return {
    /** Calls that are being admitted, or wait for their turn to be. */
    get entering() {
      return entering
    },
    /**
     * Runs an admission in its account's turn; it counts from now until it is done. Throws `overloaded` when there is
     * no place for it, or no turn comes in time, and while too many calls wait to be settled.
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
