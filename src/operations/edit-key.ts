import { setTimeout as delay } from 'node:timers/promises'
import type { KeyEdit, StoredKey } from '../accounts/key-store.ts'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { allowancePeriod } from '../core/billing/allowance-period.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'

/** By then every instance has received a change of a key. */
const KNOWN_EVERYWHERE_MS = 1_200

/**
 * Changes a key of an account, for its operator or its holder. Every instance applies the change within a second; a
 * change of the spending limit resolves once all of them do. Throws ApiError `not_found` where it was revoked meanwhile.
 */
export type EditKey = ReturnType<typeof createEditKey>

export function createEditKey(options: {
  /** False when there is no such key in use. */
  store: (keyId: string, edit: KeyEdit) => Promise<boolean>
  forgetAllowance: HoldStore['forgetAllowance']
  announce: (change: KeyChange) => Promise<void>
  clock: () => number
}) {
  return async (key: StoredKey & { accountId: string }, edit: KeyEdit): Promise<void> => {
    const { id: keyId, accountId, limitReset } = key
    if (!(await options.store(keyId, edit))) throw new ApiError('not_found', 'This key was just revoked.')
    await options.announce({ keyId })
    if (edit.limitPico === undefined && edit.limitReset === undefined) return
    // What is left of the limit is computed from the ledger again: now, and once more when no instance can have
    // computed it from the earlier limit.
    const forget = () =>
      Promise.all(
        [limitReset, edit.limitReset ?? limitReset].map((reset) =>
          options.forgetAllowance({ keyId, accountId }, allowancePeriod(reset, options.clock())),
        ),
      )
    await forget()
    await delay(KNOWN_EVERYWHERE_MS)
    await forget()
  }
}
