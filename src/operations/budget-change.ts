import { setTimeout as delay } from 'node:timers/promises'
import type { AccountStore } from '../accounts/account-store.ts'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { type AllowancePeriod, allowancePeriod } from '../core/billing/allowance-period.ts'
import { accountBudget, type BudgetHolder, MONTHLY } from '../core/billing/budget.ts'
import type { PicoUsd } from '../core/kernel/money.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'

/** By then every instance has received a change. */
const KNOWN_EVERYWHERE_MS = 1_200

/** Lets a change of a budget that is stored apply everywhere. Resolves once it does. */
export type ApplyBudgetChange = ReturnType<typeof createBudgetChange>

export function createBudgetChange(options: {
  announce: (change: KeyChange) => Promise<void>
  forgetAllowance: HoldStore['forgetAllowance']
}) {
  const { announce, forgetAllowance } = options
  return async (change: KeyChange, holder: BudgetHolder, periods: AllowancePeriod[]): Promise<void> => {
    await announce(change)
    // What is left is computed from the ledger and the open holds again: now, and once more when no instance can have
    // computed it from the earlier budget.
    const forget = () => Promise.all(periods.map((period) => forgetAllowance(holder, period)))
    await forget()
    await delay(KNOWN_EVERYWHERE_MS)
    await forget()
  }
}

/** Sets the spend cap of an account, pico-USD a month; null: none. Resolves once every instance applies it. */
export type SetSpendCap = (accountId: string, limitPico: PicoUsd | null) => Promise<void>

export const createSetSpendCap =
  (options: {
    accounts: Pick<AccountStore, 'setMonthlyLimit'>
    applyBudgetChange: ApplyBudgetChange
    clock: () => number
  }): SetSpendCap =>
  async (accountId, limitPico) => {
    await options.accounts.setMonthlyLimit(accountId, limitPico)
    const month = allowancePeriod(MONTHLY, options.clock())
    await options.applyBudgetChange({ accountId }, accountBudget(accountId), [month])
  }
