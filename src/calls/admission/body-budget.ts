import { ApiError } from '../../core/kernel/errors.ts'

/** Bytes of request bodies in flight through one API instance. */
export interface BodyBudgetLimits {
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  bodyBytesPerInstance: number
}

/** Who sends a body. A call from the console names its key in the body: the account alone is known before. */
export interface BodyOwner {
  accountId: string
  keyId: string | null
}

/** A part of the budget. Given back when everybody who holds it has released it. */
export interface BodyReservation {
  /** The body was shorter than what was reserved for it. */
  shrink(bytes: number): void
  /** One more holder, who releases it too. */
  hold(): void
  release(): void
}

export interface BodyBudget {
  /** Takes so many bytes. Throws ApiError 429 where the key or its account, 503 where this instance, has none left. */
  reserve(owner: BodyOwner, bytes: number): BodyReservation
}

const RETRY_AFTER_SECONDS = 1

/**
 * The weight of calls, beside their number: bytes from the moment a request announces its body until its call has
 * ended. Every call in the queue is held here by the instance that enqueued it, so the queue carries at the most
 * what all instances may hold. What a key or account has open at all instances together is counted by the balance cache
 * (admit.lua), once a body has been read.
 */
export function createBodyBudget(limits: BodyBudgetLimits): BodyBudget {
  const taken = new Map<string, number>()
  const scopesOf = ({ accountId, keyId }: BodyOwner): Scope[] => [
    ...(keyId === null
      ? []
      : [{ name: keyId, max: limits.bodyBytesPerKey, refusal: () => bodyIsFull('key') }]),
    { name: accountId, max: limits.bodyBytesPerAccount, refusal: () => bodyIsFull('account') },
    { name: '', max: limits.bodyBytesPerInstance, refusal: instanceIsFull },
  ]
  const add = (scopes: readonly Scope[], bytes: number) => {
    for (const { name } of scopes) {
      const sum = (taken.get(name) ?? 0) + bytes
      if (sum === 0) taken.delete(name)
      else taken.set(name, sum)
    }
  }
  return {
    reserve(owner, bytes) {
      const scopes = scopesOf(owner)
      const full = scopes.find(({ name, max }) => (taken.get(name) ?? 0) + bytes > max)
      if (full) throw full.refusal()
      add(scopes, bytes)
      let reserved = bytes
      let holders = 1
      const shrink = (to: number) => {
        if (to >= reserved) return
        add(scopes, to - reserved)
        reserved = to
      }
      return {
        shrink,
        hold: () => void holders++,
        release() {
          holders--
          if (holders === 0) shrink(0)
        },
      }
    },
  }
}

interface Scope {
  name: string
  max: number
  refusal: () => ApiError
}

/** The refusal of a call whose body is one too many for the open calls of its key or account. */
export const bodyIsFull = (scope: 'key' | 'account') =>
  new ApiError(
    'concurrency_limit_exceeded',
    `This ${scope} has as many bytes of requests in flight as it may. Wait for a call to end.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )

const instanceIsFull = () =>
  new ApiError('overloaded', 'This gateway holds as many bytes of requests as it can. Retry shortly.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
