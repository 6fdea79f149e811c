import { readFileSync } from 'node:fs'
import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys, apiKeyKeys } from '../../platform/redis/redis-keys.ts'
import type { SpendStore } from '../reports/spend-store.ts'

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
  /** The figure beside what the books say it should be; null when Redis does not know it. Throws as `load`. */
  check(key: LimitedKey, period: AllowancePeriod): Promise<{ left: bigint; shouldBe: bigint } | null>
  /** Lets the figure be loaded anew on the key's next call: its limit is another now. */
  forget(key: Pick<LimitedKey, 'keyId' | 'accountId'>, period: AllowancePeriod): Promise<void>
}

/** A figure outlives its period by this, for calls that were admitted at its very end. */
const PERIOD_SLACK_MS = 3_600_000

const READINGS_MAX = 10

const SCRIPT = readFileSync(new URL('./allowance.lua', import.meta.url), 'utf8')

type Mode = 'load' | 'check'

interface Figures {
  left: string | null
  shouldBe: string | null
}

export function createAllowanceStore(redis: Redis, spend: SpendStore): AllowanceStore {
  const script = defineScript(redis, 'syAllowance', SCRIPT)
  const once = createSingleFlight()
  const leftKey = ({ keyId, accountId }: Pick<LimitedKey, 'keyId' | 'accountId'>, { id }: AllowancePeriod) =>
    apiKeyKeys(accountId, keyId, id).left

  /** One reading; null when a call overtook it. */
  const read = async (mode: Mode, key: LimitedKey, period: AllowancePeriod): Promise<Figures | null> => {
    const { keyId, accountId, limitPico } = key
    const { holds } = accountKeys(accountId)
    const left = leftKey(key, period)
    // The holds first, then the books: see the script.
    const open = Object.entries(await redis.hgetall(holds)).flatMap(([id, hold]) =>
      hold.endsWith(`:${keyId}:${period.id}`) ? [id] : [],
    )
    const { spentPico, charges } = await spend.spending(keyId, period, open)
    const expiresAt = period.endsAt === null ? '' : String(period.endsAt + PERIOD_SLACK_MS)
    const [outcome, known, shouldBe] = (await script(
      [left, holds, `${left}:check`],
      [
        mode,
        keyId,
        period.id,
        String(limitPico),
        String(spentPico),
        expiresAt,
        ...open.flatMap((id) => [id, String(charges.get(id) ?? '')]),
      ],
    )) as [string, string | null, string | null]
    return outcome === 'again' ? null : { left: known, shouldBe }
  }

  const readUntilItHolds = async (mode: Mode, key: LimitedKey, period: AllowancePeriod): Promise<Figures> => {
    for (let reading = 0; reading < READINGS_MAX; reading++) {
      const figures = await read(mode, key, period)
      if (figures) return figures
    }
    throw new Error(`the allowance of key ${key.keyId} moves too fast to be read`)
  }

  return {
    load: (key, period) =>
      once(`${key.keyId} ${period.id}`, async () => void (await readUntilItHolds('load', key, period))),

    async left(key, period) {
      const left = await redis.get(leftKey(key, period))
      return left === null ? null : BigInt(left)
    },

    async forget(key, period) {
      await redis.del(leftKey(key, period))
    },

    async check(key, period) {
      // Most keys sleep; the books need not be read for them.
      if ((await redis.exists(leftKey(key, period))) === 0) return null
      const { left, shouldBe } = await readUntilItHolds('check', key, period)
      if (left === null || shouldBe === null) return null
      return { left: BigInt(left), shouldBe: BigInt(shouldBe) }
    },
  }
}
