import { hash, verify } from '@node-rs/argon2'
import { ApiError } from '../core/errors.ts'

/** Passwords as they are stored: Argon2id with a salt of its own each (RFC 9106; parameters as OWASP advises). */
export interface PasswordHasher {
  hash(password: string): Promise<string>
  /** Whether a password is the one hashed; takes as long when there is no hash to compare with. */
  verify(passwordHash: string | null, password: string): Promise<boolean>
}

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Each takes a thread of Node's pool for some 20 ms, and 19 MiB. */
const AT_ONCE_MAX = 2
const WAITING_MAX = 64

/** Throws ApiError `overloaded` when too many passwords wait to be checked. */
export function createPasswordHasher(): PasswordHasher {
  const inTurn = createTurns(AT_ONCE_MAX, WAITING_MAX)
  let standIn: Promise<string> | undefined

  return {
    hash: (password) => inTurn(() => hash(password, PARAMETERS)),
    verify: (passwordHash, password) =>
      inTurn(async () => {
        standIn ??= hash('the password of nobody', PARAMETERS)
        const matches = await verify(passwordHash ?? (await standIn), password)
        return matches && passwordHash !== null
      }),
  }
}

/** Runs so many tasks at a time, and lets so many wait. */
function createTurns(atOnceMax: number, waitingMax: number) {
  const waiting: Array<() => void> = []
  let running = 0
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax)
        throw new ApiError('overloaded', 'Too many sign-ins at once. Try again in a moment.', {
          retryAfterSeconds: 2,
        })
      // Whoever ends hands its turn over, so `running` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running += 1
    }
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
