/** The part that is reserved for accounts with small amounts. */
const LEFT_TO_FEW = 1 / 8

export interface SharedRoomOptions {
  max: number
  /** An account with at most this amount is limited only by the total. */
  few: number
}

/**
 * Capacity shared by accounts: an account may hold as much as is free (times `share`). One account alone gets half of
 * it, two get a third each, and nothing has to be revoked. These are the dynamic thresholds of Choudhury and Hahne,
 * "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998.
 * Many accounts in sequence would still leave little free, so a part is reserved for accounts with small amounts.
 */
export type SharedRoom = ReturnType<typeof createSharedRoom>

export function createSharedRoom({ max, few }: SharedRoomOptions) {
  const shared = max - Math.floor(max * LEFT_TO_FEW)
  const held = new Map<string, number>()
  let total = 0
  return {
    /** Whether an account may hold this much more. With a `share` of n, one account alone gets n/(n+1) of the total. */
    fits(accountId: string, amount: number, share = 1): boolean {
      if (amount > max - total) return false
      const sum = (held.get(accountId) ?? 0) + amount
      return sum <= few || sum <= share * (shared - total)
    },
    /** Adds to an account's amount; a negative value releases. */
    add(accountId: string, amount: number): void {
      total += amount
      const sum = (held.get(accountId) ?? 0) + amount
      if (sum === 0) held.delete(accountId)
      else held.set(accountId, sum)
    },
  }
}
