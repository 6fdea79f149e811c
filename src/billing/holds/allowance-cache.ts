import {
  type AllowancePeriod,
  allowancePeriod,
  LIMIT_RESETS,
  PERIOD_SLACK_MS,
} from '../../core/billing/allowance-period.ts'
import {
  accountBudget,
  type Budget,
  type BudgetHolder,
  drawText,
  groupBudgets,
  keyBudget,
  MONTHLY,
  memberBudget,
} from '../../core/billing/budget.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, type Redis, redisOf } from '../../platform/redis/redis.ts'
import { accountKeys, allowanceKey } from '../../platform/redis/redis-keys.ts'

/** A reading of the spending of a budget, to compute its allowance from. */
export interface AllowanceReading {
  spentPico: bigint
  /**
   * The charges of the budget's holds that were open before the spending was read; null for a call not settled by then.
   */
  charges: ReadonlyMap<string, bigint | null>
}

/** A charged call, and the member who created its key, if any. */
export interface ChargedCall {
  accountId: string
  keyId: string
  memberId: string | null
  /** See CallLabels. */
  groups: readonly string[]
  /** Unix ms. */
  admittedAt: number
}

/** Creates the cache of allowances in Redis: the remaining amount of each budget. Admission and the ends of calls update it. */
export function createAllowanceCache(redis: Redis) {
  const compute = defineScript(
    redis,
    'syAllowance',
    readScript(import.meta.url, './holds.lua', './allowance.lua'),
  )
  return {
    /** The rest of a budget, less open holds; null if it is not in Redis. Below zero nothing may be spent. */
    async allowance(holder: BudgetHolder, { id }: Pick<AllowancePeriod, 'id'>) {
      return amountOf(await redisOf(holder.accountId, redis).get(allowanceKey(holder, id, redis)))
    },

    /**
     * Loads the allowance of a budget if there is none, or computes what it should be. Null if a call changed the holds
     * since the reading: read again.
     */
    async computeAllowance(
      mode: 'load' | 'check',
      budget: Budget,
      period: AllowancePeriod,
      { spentPico, charges }: AllowanceReading,
    ) {
      const left = allowanceKey(budget, period.id, redis)
      const { record, absent } = accountKeys(budget.accountId, redis)
      const expiresAt = period.endsAt === null ? '' : String(period.endsAt + PERIOD_SLACK_MS)
      const [outcome, known, shouldBe] = (await compute(
        [left, record, absent],
        [
          mode,
          drawText([{ ...budget, period }]),
          String(budget.limitPico),
          String(spentPico),
          expiresAt,
          ...[...charges].flatMap(([id, charge]) => [id, String(charge ?? '')]),
        ],
      )) as [string, string | null, string | null]
      return outcome === 'again' ? null : { left: amountOf(known), shouldBe: amountOf(shouldBe) }
    },

    /** Deletes the allowance of a budget; the next call that it bounds loads it. */
    async forgetAllowance(holder: BudgetHolder, { id }: Pick<AllowancePeriod, 'id'>) {
      await redisOf(holder.accountId, redis).del(allowanceKey(holder, id, redis))
    },

    /** Deletes the allowance of every budget of a call, for a call charged after its hold was released. */
    async forgetAllowances({ accountId, keyId, memberId, groups, admittedAt }: ChargedCall) {
      const month = allowancePeriod(MONTHLY, admittedAt).id
      const holders = [keyBudget(accountId, keyId), ...groupBudgets(accountId, groups)]
      await redisOf(accountId, redis).del(
        ...LIMIT_RESETS.flatMap((reset) =>
          holders.map((holder) => allowanceKey(holder, allowancePeriod(reset, admittedAt).id, redis)),
        ),
        ...(memberId === null ? [] : [allowanceKey(memberBudget(accountId, memberId), month, redis)]),
        allowanceKey(accountBudget(accountId), month, redis),
      )
    },
  }
}

const amountOf = (text: string | null): bigint | null => (text === null ? null : BigInt(text))
