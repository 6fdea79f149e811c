import {
  apiFieldOf,
  changeBounds,
  type KeyAuthority,
  type SettingBounds,
  standsAbove,
} from '../../core/accounts/key-authority.ts'
import { allowancePeriod } from '../../core/billing/allowance-period.ts'
import { keyBudget } from '../../core/billing/budget.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { AuthorizedEdit, KeyEdit, StoredKey } from '../key-store.ts'
import type { ApplyBudgetChange } from './budget-change.ts'

/**
 * Changes a key of an account, for its operator or its holder. Every instance applies the change within a second; a
 * change of the spending limit resolves once all of them do. Throws ApiError `not_found` if the key was revoked, and
 * `not_permitted` if the change would undo a pause or a limit of a higher authority.
 */
export type EditKey = ReturnType<typeof createEditKey>

export function createEditKey(options: {
  /** False if the key does not exist or is not in use. */
  store: (keyId: string, decide: (key: StoredKey) => AuthorizedEdit) => Promise<boolean>
  applyBudgetChange: ApplyBudgetChange
  announce: (change: KeyChange) => Promise<void>
  clock: () => number
}) {
  return async (key: StoredKey & { accountId: string }, edit: KeyEdit, by: KeyAuthority): Promise<void> => {
    const { id: keyId, accountId, limitReset } = key
    if (!(await options.store(keyId, (current) => authorize(current, edit, by))))
      throw new ApiError('not_found', 'This key was just revoked.')
    if (edit.limitPico === undefined && edit.limitReset === undefined) return options.announce({ keyId })
    const resets = [limitReset, edit.limitReset ?? limitReset]
    const periods = resets.map((reset) => allowancePeriod(reset, options.clock()))
    await options.applyBudgetChange({ keyId }, [keyBudget(accountId, keyId)], periods)
  }
}

/** Adds the authority to an edit, if the edit undoes nothing of a higher one. Throws ApiError. */
function authorize(current: StoredKey, edit: KeyEdit, by: KeyAuthority): AuthorizedEdit {
  const change = changeBounds((current.bounds ?? {}) as SettingBounds, current, edit, by)
  if (change.kind === 'refused') {
    const param = apiFieldOf(change.field)
    throw new ApiError(
      'not_permitted',
      `\`${param}\` was set by ${AUTHORS[change.setBy]}. You can only tighten it.`,
      { param },
    )
  }
  return { ...edit, ...pauseOf(current, edit, by), bounds: change.bounds }
}

const AUTHORS: Record<KeyAuthority, string> = {
  operator: 'an operator of this gateway',
  manager: 'an owner or admin of the organisation',
  creator: 'the creator of the key',
}

function pauseOf(current: StoredKey, { pausedAt }: KeyEdit, by: KeyAuthority): AuthorizedEdit {
  if (pausedAt === undefined) return {}
  const pausedBy = current.pausedAt && (current.pausedBy ?? 'creator')
  const isAbove = pausedBy !== null && standsAbove(pausedBy, by)
  if (pausedAt !== null) return { pausedAt: current.pausedAt ?? pausedAt, pausedBy: isAbove ? pausedBy : by }
  if (isAbove)
    throw new ApiError('not_permitted', `This key was paused by ${AUTHORS[pausedBy]}. Ask them to resume it.`)
  return { pausedAt: null, pausedBy: null }
}
