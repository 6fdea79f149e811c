import { setTimeout as delay } from 'node:timers/promises'
import type { KeyLimits, KeyStore, NewKey, StoredKey } from '../accounts/key-store.ts'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { allowancePeriod } from '../core/billing/allowance-period.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { formatUsd } from '../core/kernel/money.ts'
import { isoTimeOrNull } from '../core/kernel/time.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import { rateLimitDetails } from './account-management.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** By then every instance has received a change of a key. */
const KNOWN_EVERYWHERE_MS = 1_200

/** What operators do to API keys. Every change is recorded in the audit log. Throws ApiError. */
export function createKeyManagement(options: {
  keys: KeyStore
  /** False when there is no such key in use. */
  setKeyLimits: (keyId: string, limits: KeyLimits) => Promise<boolean>
  forgetAllowance: HoldStore['forgetAllowance']
  announce: (change: KeyChange) => Promise<void>
  auditedAction: RunAudited
  clock: () => number
}) {
  const { keys, announce, auditedAction, clock } = options

  const find = async (keyId: string): Promise<StoredKey> => {
    const key = await keys.find(keyId)
    if (!key) throw new ApiError('not_found', 'There is no such key.')
    return key
  }

  const changeLimits = async (key: StoredKey, accountId: string, limits: KeyLimits): Promise<void> => {
    const { id: keyId, limitReset } = key
    if (!(await options.setKeyLimits(keyId, limits)))
      throw new ApiError('not_found', 'This key was just revoked.')
    await announce({ keyId })
    // What is left of the limit is computed from the ledger again: now, and once more when no instance can have
    // computed it from the earlier limit.
    const forget = () =>
      Promise.all(
        [limitReset, limits.limitReset ?? limitReset].map((reset) =>
          options.forgetAllowance({ keyId, accountId }, allowancePeriod(reset, clock())),
        ),
      )
    await forget()
    await delay(KNOWN_EVERYWHERE_MS)
    await forget()
  }

  return {
    find,

    /** Issues a key of an account. The secret is returned here and never again. */
    create(
      operator: Operator,
      accountId: string,
      settings: NewKey,
    ): Promise<{ key: StoredKey; secret: string }> {
      const { name, limitPico, limitReset, expiresAt, ...rates } = settings
      const details = {
        name,
        ...limitDetails({ limitPico, limitReset, ...rates }),
        expires_at: isoTimeOrNull(expiresAt),
      }
      const action = { action: 'key.create', target: accountId, details }
      return auditedAction(operator, action, () => keys.create(accountId, settings))
    },

    async revoke(operator: Operator, keyId: string): Promise<StoredKey> {
      const { id } = await find(keyId)
      return auditedAction(operator, { action: 'key.revoke', target: id, details: {} }, async () => {
        const revoked = await keys.revoke(id, new Date(clock()))
        // Without the announcement instances learn of it late, so its failure fails the action. Repeating it is safe.
        await announce({ keyId: id })
        return revoked ?? find(id)
      })
    },

    /** Sets limits; what is absent stays, null lifts a limit. Resolves once every instance applies them. */
    async setLimits(operator: Operator, key: StoredKey, limits: KeyLimits): Promise<StoredKey> {
      const { id, accountId } = key
      if (accountId === null || key.state === 'revoked')
        throw new ApiError('invalid_request', 'Only a key of an account that is in use has limits.')
      const action = { action: 'key.limits', target: id, details: limitDetails(limits) }
      return auditedAction(operator, action, async () => {
        await changeLimits(key, accountId, limits)
        return find(id)
      })
    },
  }
}

const limitDetails = ({ limitPico, limitReset, ...rates }: KeyLimits) => ({
  ...(limitPico !== undefined && { limit_usd: limitPico === null ? null : formatUsd(limitPico) }),
  ...(limitReset !== undefined && { limit_reset: limitReset }),
  ...rateLimitDetails(rates),
})
