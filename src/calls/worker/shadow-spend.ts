import { DAY_MS } from '../../core/kernel/time.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { shadowSpendKey } from '../../platform/redis/redis-keys.ts'

/** What the fleet spends on shadows, bounded by UTC day. */
export interface ShadowSpend {
  /** Reserves the most that a request may cost. False: the day's money is spent. */
  reserve(pico: bigint): Promise<boolean>
  /** Returns what a reservation did not cost. */
  giveBack(pico: bigint): Promise<void>
}

const KEPT_SECONDS = (2 * DAY_MS) / 1_000

/** What is reserved at midnight counts for the day that it is given back on; a reservation of a lost process stays until then. */
export function createShadowSpend(
  redis: Redis,
  { limitPico, clock }: { limitPico: bigint; clock: () => number },
): ShadowSpend {
  const add = async (pico: bigint): Promise<bigint> => {
    const key = shadowSpendKey(new Date(clock()).toISOString().slice(0, 10))
    const spent = await redis.incrby(key, String(pico))
    await redis.expire(key, KEPT_SECONDS)
    return BigInt(spent)
  }
  return {
    async reserve(pico) {
      if ((await add(pico)) <= limitPico) return true
      await add(-pico)
      return false
    },
    async giveBack(pico) {
      if (pico !== 0n) await add(-pico)
    },
  }
}
