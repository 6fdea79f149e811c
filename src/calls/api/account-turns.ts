import { tooManyCalls } from './overloaded.ts'

interface Account {
  running: number
  /** Those that wait, in order of arrival. */
  waiting: Array<() => void>
}

/**
 * Lets accounts in by turns, so that the many calls of one do not stand before another's single one. One that finds
 * room has its turn at once. Those that wait are let in account by account, within an account in order of arrival; no
 * account has more than its part at once, whether or not others wait.
 */
export function createAccountTurns({ atOnce, perAccount }: { atOnce: number; perAccount: number }) {
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
    /** Takes a turn, which the returned function gives back. Rejects with `overloaded` where none comes within `waitMs`. */
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
