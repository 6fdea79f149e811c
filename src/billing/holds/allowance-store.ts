import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { SpendStore } from '../reports/usage-store.ts'
import type { HoldStore, LimitedKey } from './hold-store.ts'

const READINGS_MAX = 10

/** What keys with a spending limit may still spend. Admission and settlement keep the amounts up to date. */
export type AllowanceStore = ReturnType<typeof createAllowanceStore>

export function createAllowanceStore(
  holds: Pick<HoldStore, 'openHolds' | 'allowance' | 'computeAllowance'>,
  spend: SpendStore,
) {
  const once = createSingleFlight()

  const compute = async (mode: 'load' | 'check', key: LimitedKey, period: AllowancePeriod) => {
    for (let readings = 0; readings < READINGS_MAX; readings++) {
      // The holds first, then the ledger: see allowance.lua.
      const open = (await holds.openHolds(key.accountId))
        .filter(({ keyId, allowancePeriod }) => keyId === key.keyId && allowancePeriod === period.id)
        .map(({ callId }) => callId)
      const { spentPico, charges } = await spend.spending(key.keyId, period, open)
      const reading = { spentPico, charges: new Map(open.map((id) => [id, charges.get(id) ?? null])) }
      const computed = await holds.computeAllowance(mode, key, period, reading)
      if (computed) return computed
    }
    throw new Error(`the allowance of key ${key.keyId} changed during each of ${READINGS_MAX} readings`)
  }

  return {
    /**
     * Brings a key's allowance for a period into Redis, from PostgreSQL and the open holds; changes nothing when it
     * is there. Throws when calls keep settling so fast that no reading holds, and when a service is away.
     */
    load: (key: LimitedKey, period: AllowancePeriod) =>
      once(`${key.keyId} ${period.id}`, async () => void (await compute('load', key, period))),

    /** The allowance beside what it should be by the ledger; null when Redis does not have it. Throws as `load`. */
    async check(key: LimitedKey, period: AllowancePeriod) {
      // Most keys sleep; the ledger need not be read for them.
      if ((await holds.allowance(key, period)) === null) return null
      const { left, shouldBe } = await compute('check', key, period)
      return left === null || shouldBe === null ? null : { left, shouldBe }
    },
  }
}
