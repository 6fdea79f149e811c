import { readFileSync } from 'node:fs'
import type { AllowancePeriod } from '../core/allowance-period.ts'
import { createSingleFlight } from '../core/single-flight.ts'
import { defineScript, type Redis } from '../platform/redis.ts'
import { accountKeys, apiKeyKeys } from '../platform/redis-keys.ts'
import type { SpendStore } from './spend-store.ts'

/** A key with a spending limit. */
export interface LimitedKey {
  keyId: string
  accountId: string
  limitPico: bigint
}

/** What keys with a spending limit may still spend. Admission and settlement keep the figures up to date. */
export interface AllowanceStore {
  /**
   * Brings a key's figure for a period into Redis, from PostgreSQL and the open holds; changes nothing when it
   * is there. Throws when calls keep settling so fast that no reading holds, and when a service is away.
   */
  load(key: LimitedKey, period: AllowancePeriod): Promise<void>
  /** What is left of the limit, less open holds; null when Redis does not know. Below zero never to be spent. */
  left(key: LimitedKey, period: AllowancePeriod): Promise<bigint | null>
}

/** A figure outlives its period by this, for calls that were admitted at its very end. */
const PERIOD_SLACK_MS = 3_600_000

const READINGS_MAX = 10

const LOAD = readFileSync(new URL('./load-allowance.lua', import.meta.url), 'utf8')

export function createAllowanceStore(redis: Redis, spend: SpendStore): AllowanceStore {
  const script = defineScript(redis, 'syLoadAllowance', LOAD)
  const once = createSingleFlight()

  const loadOnce = async (key: LimitedKey, period: AllowancePeriod): Promise<boolean> => {
    const { keyId, accountId, limitPico } = key
    const { holds } = accountKeys(accountId)
    // The holds first, then the books: see the script.
    const open = Object.entries(await redis.hgetall(holds)).flatMap(([id, hold]) =>
      hold.endsWith(`:${keyId}:${period.id}`) ? [id] : [],
    )
    const { spentPico, charges } = await spend.spending(keyId, period, open)
    const expiresAt = period.endsAt === null ? '' : String(period.endsAt + PERIOD_SLACK_MS)
    const outcome = await script(
      [apiKeyKeys(accountId, keyId, period.id).left, holds],
      [
        keyId,
        period.id,
        String(limitPico),
        String(spentPico),
        expiresAt,
        ...open.flatMap((id) => [id, String(charges.get(id) ?? '')]),
      ],
    )
    return outcome !== 'again'
  }

  return {
    load: (key, period) =>
      once(`${key.keyId} ${period.id}`, async () => {
        for (let reading = 0; reading < READINGS_MAX; reading++) {
          if (await loadOnce(key, period)) return
        }
        throw new Error(`the allowance of key ${key.keyId} moves too fast to be loaded`)
      }),

    async left(key, period) {
      const left = await redis.get(apiKeyKeys(key.accountId, key.keyId, period.id).left)
      return left === null ? null : BigInt(left)
    },
  }
}
