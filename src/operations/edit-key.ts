import type { KeyEdit, StoredKey } from '../accounts/key-store.ts'
import { keptPeriods } from '../core/billing/allowance-period.ts'
import { keyBudget } from '../core/billing/budget.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { ApplyBudgetChange } from './budget-change.ts'

/**
 * Changes a key of an account, for its operator or its holder. Every instance applies the change within a second; a
 * change of the spending limit resolves once all of them do. Throws ApiError `not_found` where it was revoked meanwhile.
 */
export type EditKey = ReturnType<typeof createEditKey>

export function createEditKey(options: {
  /** False when there is no such key in use. */
  store: (keyId: string, edit: KeyEdit) => Promise<boolean>
  applyBudgetChange: ApplyBudgetChange
  announce: (change: KeyChange) => Promise<void>
  clock: () => number
}) {
  return async (key: StoredKey & { accountId: string }, edit: KeyEdit): Promise<void> => {
    const { id: keyId, accountId, limitReset } = key
    if (!(await options.store(keyId, edit))) throw new ApiError('not_found', 'This key was just revoked.')
    if (edit.limitPico === undefined && edit.limitReset === undefined) return options.announce({ keyId })
    const resets = [limitReset, edit.limitReset ?? limitReset]
    const periods = resets.flatMap((reset) => keptPeriods(reset, options.clock()))
    await options.applyBudgetChange({ keyId }, keyBudget(accountId, keyId), periods)
  }
}
