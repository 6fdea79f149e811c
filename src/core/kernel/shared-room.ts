/** Whatever is taken, this part is left to accounts that hold few. */
const LEFT_TO_FEW = 1 / 8

export interface SharedRoomOptions {
  max: number
  /** An account that holds no more than this has room as long as there is any. */
  few: number
}

/**
 * Room that accounts share: an account may hold as much as is left over (times `share`). One account alone gets half of
 * it, two that take turns a third each, and nothing has to be taken away from anybody. These are the dynamic thresholds
 * of Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on
 * Networking 6(2), 1998. Those that come one after another while nobody gives anything back still leave little, so a
 * part of the room is kept for accounts that hold few.
 */
export type SharedRoom = ReturnType<typeof createSharedRoom>

export function createSharedRoom({ max, few }: SharedRoomOptions) {
  const shared = max - Math.floor(max * LEFT_TO_FEW)
  const held = new Map<string, number>()
  let total = 0
  return {
    /** Whether an account may hold so much more. With a `share` of n, one account alone gets n/(n+1) of the room. */
    fits(accountId: string, amount: number, share = 1): boolean {
      if (amount > max - total) return false
      const sum = (held.get(accountId) ?? 0) + amount
      return sum <= few || sum <= share * (shared - total)
    },
    /** Counts what an account takes, or gives back where it is negative. */
    add(accountId: string, amount: number): void {
      total += amount
      const sum = (held.get(accountId) ?? 0) + amount
      if (sum === 0) held.delete(accountId)
      else held.set(accountId, sum)
    },
  }
}
