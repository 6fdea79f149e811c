import { hash, verify } from '@node-rs/argon2'
import { ApiError, invalid } from '../core/kernel/errors.ts'

/** Password hashes: Argon2id with a random salt (RFC 9106; parameters as recommended by OWASP). */
export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/** The requester of a password check, which determines its place in the queue. */
export interface PasswordRequester {
  /** Requesters that share a limit of waiting checks: a network, or a signed-in account. */
  group: string
  /** Signed in before. */
  isKnown: boolean
}

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Maximum concurrent hashes; each takes a thread of Node's pool for about 20 ms, and 19 MiB. */
const AT_ONCE_MAX = 2
/** Maximum waiting checks of each queue. */
const WAITING_MAX = 64
const WAITING_PER_GROUP_MAX = 8

/** Throws ApiError `overloaded` if too many checks wait. */
export function createPasswordHasher() {
  const inTurn = createTurns()
  let standIn: Promise<string> | undefined

  return {
    hash: (password: string, requester: PasswordRequester): Promise<string> =>
      inTurn(requester, () => hash(password, PARAMETERS)),
    /** Whether a password matches a hash; takes the same time without a hash. */
    verify: (passwordHash: string | null, password: string, requester: PasswordRequester): Promise<boolean> =>
      inTurn(requester, async () => {
        standIn ??= hash('the password of no account', PARAMETERS)
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
 * Runs a limited number of tasks at a time. Known and unknown requesters wait in separate queues that are served in
 * turn, and each group has a maximum of waiting tasks: a flood in one queue does not delay the other, and a single
 * network cannot fill its queue.
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

  return async <T>({ group, isKnown }: PasswordRequester, task: () => Promise<T>): Promise<T> => {
    if (running >= AT_ONCE_MAX) {
      const line = lines[isKnown ? 'known' : 'others']
      const ofGroup = line.filter((waiting) => waiting.group === group).length
      if (line.length >= WAITING_MAX || ofGroup >= WAITING_PER_GROUP_MAX)
        throw new ApiError('overloaded', 'Too many sign-ins at once. Try again in a moment.', {
          retryAfterSeconds: 2,
        })
      // A finished task passes its slot on, so `running` does not change.
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

/** Rejects a new password that equals the email or has fewer than four different characters. */
export function refuseGuessable(password: string, param: string, email: string): void {
  if (password.toLowerCase() === email || new Set(password).size < 4)
    throw invalid(param, 'This password is too easy to guess. Choose another one.')
}
