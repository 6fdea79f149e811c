import type { PlatformKeyStore } from '../catalog/platform-key-store.ts'
import type { Provider } from '../core/catalog/catalog.ts'
import { keyOrigins } from '../core/catalog/platform-key-variables.ts'
import { ApiError, invalid } from '../core/kernel/errors.ts'
import type { KeyCheck } from '../providers/listings/check-key.ts'
import type { Operator, RunAudited } from './audit-log.ts'

export interface StoredPlatformKey {
  /** The provider's verdict on the key; `unknown` if the provider could not be reached. */
  check: Exclude<KeyCheck, 'unauthorized'>
  /** False if other processes do not have it yet. */
  announced: boolean
}

export type PlatformKeyManagement = ReturnType<typeof createPlatformKeyManagement>

/** Operators' changes of the gateway's own keys at providers, recorded in the audit log. Throws ApiError. */
export function createPlatformKeyManagement(options: {
  store: PlatformKeyStore
  /** Checks a key at its provider; may reject when the provider does not respond. */
  check: (provider: Provider, secret: string) => Promise<KeyCheck>
  /** Reloads the stored keys in this process. */
  reread: () => Promise<void>
  /** Closes the breaker of a provider, which may have refused the key before. */
  closeBreaker: (providerId: string) => Promise<unknown>
  auditedAction: RunAudited
}) {
  const { store, check, reread, closeBreaker, auditedAction } = options
  return {
    /** Stores our key at a provider, replacing the previous one, unless the provider rejects it. */
    store(operator: Operator, provider: Provider, secret: string): Promise<StoredPlatformKey> {
      const { id: providerId } = provider
      const origins = keyOrigins(provider)
      const details = { origins: origins.join(' ') }
      const action = { action: 'platform-key.store', target: providerId, details }
      return auditedAction(operator, action, async () => {
        if (provider.apiKeyEnv === null) throw invalid('key', 'This provider needs no key.')
        // An outage of the provider does not speak against a key.
        const checked = await check(provider, secret).catch(() => 'unknown' as const)
        if (checked === 'unauthorized')
          throw invalid('key', 'The provider rejects this key. It was not stored.')
        const announced = await store.put({ providerId, origins, secret, author: operator.actor })
        if (announced) {
          await reread()
          await closeBreaker(providerId)
        }
        return { check: checked, announced }
      })
    },

    /** Deletes the stored key; the environment's key is used again, if there is one. */
    remove(operator: Operator, providerId: string): Promise<Pick<StoredPlatformKey, 'announced'>> {
      const action = { action: 'platform-key.remove', target: providerId, details: {} }
      return auditedAction(operator, action, async () => {
        const announced = await store.remove(providerId)
        if (announced === null) throw new ApiError('not_found', 'No key is stored for this provider.')
        if (announced) await reread()
        return { announced }
      })
    },
  }
}
