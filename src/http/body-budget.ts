import { bodyIsFull } from '../calls/admission/admit-call.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { createSharedRoom } from '../core/kernel/shared-room.ts'

/** Bytes of request bodies in flight through one API instance. */
export interface BodyBudgetLimits {
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  bodyBytesPerInstance: number
}

/** Who sends a body. A call from the console names its key in the body: the account alone is known before. */
export interface BodySender {
  accountId: string
  keyId: string | null
}

/** What a body takes of the budget. Given back when everybody who holds it has released it. */
export interface BodyReservation {
  /** More of the body has arrived. Throws ApiError 429 where the key or its account, 503 where this instance, has no room. */
  grow(bytes: number): void
  /** One more holder, who releases it too. */
  hold(): void
  release(): void
}

/** Bodies up to this length have more room than large ones, and those of an account that has no more in flight always. */
const SMALL_BODY_BYTES = 256 * 1024
const SMALL_BODY_SHARE = 8

/**
 * The weight of calls, beside their number: bytes from the moment they arrive until their call has ended. Nothing is
 * taken for what a request only announces. Every call in the queue is held here by the instance that enqueued it, so
 * the queue carries at the most what all instances may hold. What a key or account has open at all instances together
 * is counted by the balance cache (admit.lua), once a body has been read.
 */
export function createBodyBudget(limits: BodyBudgetLimits) {
  const room = createSharedRoom({ max: limits.bodyBytesPerInstance, few: SMALL_BODY_BYTES })
  const taken = new Map<string, number>()
  /** Throws where a body that has `held` bytes may not take so many more. */
  const check = ({ accountId, keyId }: BodySender, held: number, bytes: number) => {
    const sum = (scope: string) => (taken.get(scope) ?? 0) + bytes
    if (keyId !== null && sum(keyId) > limits.bodyBytesPerKey) throw bodyIsFull('key')
    if (sum(accountId) > limits.bodyBytesPerAccount) throw bodyIsFull('account')
    const share = held + bytes <= SMALL_BODY_BYTES ? SMALL_BODY_SHARE : 1
    if (!room.fits(accountId, bytes, share)) throw instanceIsFull()
  }
  const add = ({ accountId, keyId }: BodySender, bytes: number) => {
    room.add(accountId, bytes)
    for (const scope of keyId === null ? [accountId] : [keyId, accountId]) {
      const sum = (taken.get(scope) ?? 0) + bytes
      if (sum === 0) taken.delete(scope)
      else taken.set(scope, sum)
    }
  }
  return {
    /** For a body that is about to arrive. Throws as `grow` does where it would not fit now; takes nothing yet. */
    open(sender: BodySender, announcedBytes: number): BodyReservation {
      check(sender, 0, announcedBytes)
      let bytes = 0
      let holders = 1
      return {
        grow(more) {
          check(sender, bytes, more)
          bytes += more
          add(sender, more)
        },
        hold: () => void holders++,
        release() {
          holders--
          if (holders === 0) add(sender, -bytes)
        },
      }
    },
  }
}

const instanceIsFull = () =>
  new ApiError('overloaded', 'This gateway holds as many bytes of requests as it can. Retry shortly.', {
    retryAfterSeconds: 1,
  })
