import { ApiError } from '../../core/kernel/errors.ts'

/** How much is worked on at the same time. */
export interface TurnLimits {
  atOnce: number
  perAccount: number
}

/** Lets accounts in by turns, so that the many calls of one do not stand before another's single one. */
export interface AccountTurns {
  /** Waits for a turn; the returned function gives it back. Rejects with the signal's reason when it aborts first. */
  take(accountId: string, signal: AbortSignal): Promise<() => void>
}

interface Account {
  running: number
  /** Those that wait, in order of arrival. */
  waiting: Array<() => void>
}

/**
 * Turns in memory. One that finds room has it at once. Those that wait are let in account by account, within an
 * account in order of arrival; no account has more than its part at once, whether or not others wait.
 */
export function createAccountTurns({ atOnce, perAccount }: TurnLimits): AccountTurns {
  /** In the order of their turns: an account that had one goes to the end. */
  const accounts = new Map<string, Account>()
  let running = 0

  const start = (accountId: string, account: Account) => {
    running++
    account.running++
    accounts.delete(accountId)
    accounts.set(accountId, account)
  }
  const end = (accountId: string, account: Account) => {
    running--
    account.running--
    forgetIdle(accountId, account)
    startNext()
  }
  const forgetIdle = (accountId: string, { running: its, waiting }: Account) => {
    if (its === 0 && waiting.length === 0) accounts.delete(accountId)
  }
  const startNext = () => {
    if (running >= atOnce) return
    for (const account of accounts.values()) {
      if (account.running < perAccount && account.waiting.length > 0) return account.waiting.shift()!()
    }
  }

  return {
    take(accountId, signal) {
      const account = accounts.get(accountId) ?? { running: 0, waiting: [] }
      accounts.set(accountId, account)
      const started = () => {
        start(accountId, account)
        return () => end(accountId, account)
      }
      if (running < atOnce && account.running < perAccount) return Promise.resolve(started())
      return new Promise((resolve, reject) => {
        const turn = () => {
          signal.removeEventListener('abort', leave)
          resolve(started())
        }
        const leave = () => {
          account.waiting.splice(account.waiting.indexOf(turn), 1)
          forgetIdle(accountId, account)
          reject(signal.reason)
        }
        account.waiting.push(turn)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}

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
