import { tooManyCalls } from './overloaded.ts'

interface Account {
  running: number
  /** Waiting callers, in order of arrival. */
  waiting: Array<() => void>
}

/**
 * Admits accounts in turn, so that many calls of one account do not delay a single call of another. A call with a free
 * turn proceeds at once. Waiting calls are admitted account by account, within an account in order of arrival; no
 * account has more than its share of turns, whether or not others wait.
 */
export function createAccountTurns({ atOnce, perAccount }: { atOnce: number; perAccount: number }) {
  /** In order of their turns: an account that had one moves to the end. */
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
    /** Takes a turn, which the returned function releases. Rejects with `overloaded` if none is free within `waitMs`. */
    take(accountId: string, waitMs: number): Promise<() => void> {
      const account = accounts.get(accountId) ?? { running: 0, waiting: [] }
      accounts.set(accountId, account)
      const started = () => {
        start(accountId, account)
        return () => end(accountId, account)
      }
      if (running < atOnce && account.running < perAccount) return Promise.resolve(started())
      return new Promise((resolve, reject) => {
        const turn = () => {
          clearTimeout(timer)
          resolve(started())
        }
        const leave = () => {
          account.waiting.splice(account.waiting.indexOf(turn), 1)
          forgetIdle(accountId, account)
          reject(tooManyCalls())
        }
        account.waiting.push(turn)
        const timer = setTimeout(leave, waitMs)
      })
    },
  }
}
