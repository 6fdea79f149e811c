import { setTimeout as delay } from 'node:timers/promises'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { type AllowancePeriod, keptPeriods } from '../../core/billing/allowance-period.ts'
import { accountBudget, type BudgetHolder, MONTHLY, memberBudget } from '../../core/billing/budget.ts'
import type { PicoUsd } from '../../core/kernel/money.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { AccountStore } from '../account-store.ts'
import type { MemberStore } from '../organisation/member-store.ts'

/** Every instance has received a change after this time. */
const KNOWN_EVERYWHERE_MS = 1_200

/** Applies a stored change of budgets everywhere. Resolves once it is applied. */
export type ApplyBudgetChange = ReturnType<typeof createBudgetChange>

export function createBudgetChange(options: {
  announce: (change: KeyChange) => Promise<void>
  forgetAllowance: HoldStore['forgetAllowance']
}) {
  const { announce, forgetAllowance } = options
  return async (
    change: KeyChange,
    holders: readonly BudgetHolder[],
    periods: readonly AllowancePeriod[],
  ): Promise<void> => {
    await announce(change)
    // Recomputes the allowance from the ledger and the open holds: now, and again when no instance can have computed it
    // from the earlier budget.
    const forget = () =>
      Promise.all(holders.flatMap((holder) => periods.map((period) => forgetAllowance(holder, period))))
    await forget()
    await delay(KNOWN_EVERYWHERE_MS)
    await forget()
  }
}

export type MonthlyBudgets = ReturnType<typeof createMonthlyBudgets>

/** Changes of the monthly budgets of accounts and members. Each resolves once every instance applies it. */
export function createMonthlyBudgets(options: {
  accounts: Pick<AccountStore, 'setMonthlyLimit'>
  members: Pick<MemberStore, 'setBudget'>
  applyBudgetChange: ApplyBudgetChange
  clock: () => number
}) {
  const { accounts, members, applyBudgetChange, clock } = options
  const apply = (holder: BudgetHolder) =>
    applyBudgetChange({ accountId: holder.accountId }, [holder], keptPeriods(MONTHLY, clock()))
  return {
    /** Sets the spend cap of an account, pico-USD; null: none. */
    async setSpendCap(accountId: string, limitPico: PicoUsd | null): Promise<void> {
      await accounts.setMonthlyLimit(accountId, limitPico)
      await apply(accountBudget(accountId))
    },

    /** Sets the budget of a member, pico-USD; null: none. Throws ApiError if the person is not a member. */
    async setMemberBudget(accountId: string, personId: string, limitPico: PicoUsd | null): Promise<void> {
      await members.setBudget(accountId, personId, limitPico)
      await apply(memberBudget(accountId, personId))
    },

    /** Recomputes a member's budget after a takeover of keys, whose spending this month counts against it. */
    keysTakenOver: (accountId: string, personId: string): Promise<void> =>
      apply(memberBudget(accountId, personId)),
  }
}
