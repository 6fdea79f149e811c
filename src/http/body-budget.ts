import { bodyIsFull } from '../calls/api/admit-call.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { createSharedRoom } from '../core/kernel/shared-room.ts'

/** Bytes of request bodies in flight through one API instance. */
export interface BodyBudgetLimits {
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  bodyBytesPerInstance: number
}

/** The sender of a body. A call from the console names its key in the body, so at first only the account is known. */
export interface BodySender {
  accountId: string
  keyId: string | null
}

/** The part of the budget that a body uses, released when all its holders have released it. */
export interface BodyReservation {
  /** Adds received bytes. Throws ApiError 429 if the key or its account, or 503 if this instance, has no space. */
  grow(bytes: number): void
  /** Adds a holder, which must release it too. */
  hold(): void
  release(): void
}

/** Bodies up to this size may use more than large ones, and always if the account has no more in flight. */
const SMALL_BODY_BYTES = 256 * 1024
const SMALL_BODY_SHARE = 8

/**
 * Bounds the bytes of calls in flight: they count from their arrival until the call has ended. Announced bytes do not
 * count. The instance that enqueued a call holds its body, so the queue contains at most what all instances may hold.
 * The open bodies of a key or account over all instances are counted by the balance cache (admit.lua), once a body has
 * been read.
 */
export function createBodyBudget(limits: BodyBudgetLimits) {
  const room = createSharedRoom({ max: limits.bodyBytesPerInstance, few: SMALL_BODY_BYTES })
  const taken = new Map<string, number>()
  /** Throws if a body with `held` bytes may not use this many more. */
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
    /** For a body that is about to arrive. Throws like `grow` if it would not fit; reserves nothing yet. */
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
  new ApiError('overloaded', 'The request memory of this gateway is full. Retry shortly.', {
    retryAfterSeconds: 1,
  })
