import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import { type Budget, drawnPeriod } from '../../core/billing/budget.ts'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { SpendStore } from '../reports/spend-store.ts'
import type { OpenHold } from './admission.ts'
import type { HoldStore } from './hold-store.ts'

const READINGS_MAX = 10

/** The allowances of budgets. Admission and settlement update the amounts. */
export type AllowanceStore = ReturnType<typeof createAllowanceStore>

export function createAllowanceStore(
  holds: Pick<HoldStore, 'openHolds' | 'allowance' | 'computeAllowance'>,
  spend: Pick<SpendStore, 'holdsOf' | 'spending'>,
) {
  const once = createSingleFlight()

  const compute = async (mode: 'load' | 'check', budget: Budget, period: AllowancePeriod) => {
    for (let readings = 0; readings < READINGS_MAX; readings++) {
      // The keys first, then the holds, then the ledger: see allowance.lua.
      const isOf = await spend.holdsOf(budget)
      const open = (await holds.openHolds(budget.accountId))
        .filter((hold) => isOf(hold) && isOfPeriod(hold, mode, budget, period))
        .map(({ callId }) => callId)
      const { spentPico, charges } = await spend.spending(budget, period, open)
      const reading = { spentPico, charges: new Map(open.map((id) => [id, charges.get(id) ?? null])) }
      const computed = await holds.computeAllowance(mode, budget, period, reading)
      if (computed) return computed
    }
    throw new Error(
      `the allowance of ${budget.scope} ${budget.id} changed during each of ${READINGS_MAX} readings`,
    )
  }

  return {
    /**
     * Loads the allowance of a budget for a period into Redis, from PostgreSQL and the open holds; changes nothing if
     * it is there. Throws when calls settle so fast that no reading is consistent, and when a service is away.
     */
    load: (budget: Budget, period: AllowancePeriod) =>
      once(
        `${budget.scope} ${budget.id} ${period.id}`,
        async () => void (await compute('load', budget, period)),
      ),

    /** The allowance, and the one computed from the ledger; null if it is not in Redis. Throws as `load`. */
    async check(budget: Budget, period: AllowancePeriod) {
      // Most budgets are inactive; the ledger is not read for them.
      if ((await holds.allowance(budget, period)) === null) return null
      const { left, shouldBe } = await compute('check', budget, period)
      return left === null || shouldBe === null ? null : { left, shouldBe }
    },
  }
}

/**
 * Whether a hold counts for a budget in a period: it was taken from it, or the call was admitted in the period before
 * the budget existed or under another period of it. The latter becomes part of an allowance when it is loaded.
 */
function isOfPeriod(
  { callId, draws }: OpenHold,
  mode: 'load' | 'check',
  { scope }: Budget,
  { id, startsAt, endsAt }: AllowancePeriod,
): boolean {
  const drawn = drawnPeriod(draws, scope)
  // The first letter is the kind of period: day, week or month.
  if (mode === 'check' || drawn?.[0] === id[0]) return drawn === id
  const admittedAt = callCreatedAt(callId)
  return admittedAt !== null && admittedAt >= startsAt && (endsAt === null || admittedAt < endsAt)
}
