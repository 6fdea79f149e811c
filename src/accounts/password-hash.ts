import { hash, verify } from '@node-rs/argon2'
import { ApiError } from '../core/kernel/errors.ts'

/** Passwords as they are stored: Argon2id with a salt of its own each (RFC 9106; parameters as OWASP advises). */
export interface PasswordHasher {
  hash(password: string, asker: Asker): Promise<string>
  /** Whether a password is the one hashed; takes as long when there is no hash to compare with. */
  verify(passwordHash: string | null, password: string, asker: Asker): Promise<boolean>
}

/** For whom a password is checked, which decides how long that waits when many are. */
export interface Asker {
  /** Who shares a bound on what waits: a network, or an account that is signed in. */
  group: string
  /** It signed in before. */
  isKnown: boolean
}

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Each takes a thread of Node's pool for some 20 ms, and 19 MiB. */
const AT_ONCE_MAX = 2
/** Of each line. */
const WAITING_MAX = 64
const WAITING_PER_GROUP_MAX = 8

/** Throws ApiError `overloaded` when too many passwords wait to be checked. */
export function createPasswordHasher(): PasswordHasher {
  const inTurn = createTurns()
  let standIn: Promise<string> | undefined

  return {
    hash: (password, asker) => inTurn(asker, () => hash(password, PARAMETERS)),
    verify: (passwordHash, password, asker) =>
      inTurn(asker, async () => {
        standIn ??= hash('the password of nobody', PARAMETERS)
        const matches = await verify(passwordHash ?? (await standIn), password)
        return matches && passwordHash !== null
      }),
  }
}

interface Waiting {
  group: string
  start: () => void
}

/**
 * Runs so many tasks at a time. Known and other askers wait in lines of their own that are served in turn, and one
 * group may have so many waiting: whoever floods one line keeps nobody in the other waiting, and a single network
 * does not even fill its own.
 */
function createTurns() {
  const lines: Record<'known' | 'others', Waiting[]> = { known: [], others: [] }
  let running = 0
  let last: 'known' | 'others' = 'others'

  const next = (): Waiting | undefined => {
    const first = last === 'known' ? 'others' : 'known'
    last = lines[first].length > 0 ? first : last
    return (lines[first].length > 0 ? lines[first] : lines[first === 'known' ? 'others' : 'known']).shift()
  }

  return async <T>({ group, isKnown }: Asker, task: () => Promise<T>): Promise<T> => {
    if (running >= AT_ONCE_MAX) {
      const line = lines[isKnown ? 'known' : 'others']
      const ofGroup = line.filter((waiting) => waiting.group === group).length
      if (line.length >= WAITING_MAX || ofGroup >= WAITING_PER_GROUP_MAX)
        throw new ApiError('overloaded', 'Too many sign-ins at once. Try again in a moment.', {
          retryAfterSeconds: 2,
        })
      // Whoever ends hands its turn over, so `running` stays as it is.
      await new Promise<void>((start) => line.push({ group, start }))
    } else {
      running += 1
    }
    try {
      return await task()
    } finally {
      const waiting = next()
      if (waiting) waiting.start()
      else running -= 1
    }
  }
}
