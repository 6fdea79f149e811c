import type { OverlayPlatformKey } from '../catalog/catalog-overlay.ts'
import type { PlatformKeySettings, PlatformKeyStore } from '../catalog/platform-key-store.ts'
import { idOf, MAIN_KEY } from '../catalog/platform-keys.ts'
import type { Provider } from '../core/catalog/catalog.ts'
import { keyOrigins } from '../core/catalog/platform-key-variables.ts'
import { ApiError, invalid } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import type { KeyCheck } from '../providers/listings/check-key.ts'
import type { Operator, RunAudited } from './audit-log.ts'

export interface StoredPlatformKey {
  id: string
  /** The provider's verdict on the key; `unknown` if the provider could not be reached. */
  check: Exclude<KeyCheck, 'unauthorized'>
  /** False if other processes do not have it yet. */
  announced: boolean
}

type ChangedPlatformKey = Pick<StoredPlatformKey, 'id' | 'announced'>

/** Which key a new one is. */
interface NewKeyTarget {
  /** Null: another one. */
  id: string | null
  /** The key whose settings it gets, and that gets no new calls. */
  inPlaceOf?: string | undefined
  settings: PlatformKeySettings
}

const KEYS_MAX = 50

export type PlatformKeyManagement = ReturnType<typeof createPlatformKeyManagement>

/** Operators' changes of the gateway's own keys at providers, recorded in the audit log. Throws ApiError. */
export function createPlatformKeyManagement(options: {
  store: PlatformKeyStore
  keysOf: (providerId: string) => readonly OverlayPlatformKey[]
  /** Checks a key at its provider; may reject when the provider does not respond. */
  check: (provider: Provider, secret: string) => Promise<KeyCheck>
  /** Reloads the stored keys in this process. */
  reread: () => Promise<void>
  /** Closes the breaker of a provider, which may have refused the key before. */
  closeBreaker: (providerId: string) => Promise<unknown>
  auditedAction: RunAudited
}) {
  const { store, keysOf, check, reread, closeBreaker, auditedAction } = options
  const isOf = (id: string) => (key: OverlayPlatformKey) => idOf(key) === id
  return {
    /** Stores one of our keys at a provider, replacing a previous one with its id, unless the provider rejects it. */
    store(
      operator: Operator,
      provider: Provider,
      secret: string,
      target: NewKeyTarget,
    ): Promise<StoredPlatformKey> {
      const { id: providerId } = provider
      const { inPlaceOf } = target
      const id = target.id ?? newId('plat')
      const origins = keyOrigins(provider)
      const details = { origins: origins.join(' '), key: id, ...(inPlaceOf && { in_place_of: inPlaceOf }) }
      const action = { action: 'platform-key.store', target: providerId, details }
      return auditedAction(operator, action, async () => {
        if (provider.apiKeyEnv === null) throw invalid('key', 'This provider needs no key.')
        const known = keysOf(providerId)
        if (known.length >= KEYS_MAX && !known.some(isOf(id)))
          throw invalid('key', `A provider has at most ${KEYS_MAX} keys. Remove one first.`)
        const before = known.find(isOf(inPlaceOf ?? id))
        if (inPlaceOf !== undefined && !before && inPlaceOf !== MAIN_KEY)
          throw invalid('in_place_of', 'There is no key with this id.')
        // An outage of the provider does not speak against a key.
        const checked = await check(provider, secret).catch(() => 'unknown' as const)
        if (checked === 'unauthorized')
          throw invalid('key', 'The provider rejects this key. It was not stored.')
        const { name, weight, ...others } = { ...before, ...target.settings }
        const { requestsPerMinute, tokensPerMinute, usdPerDay, usdPerMonth } = others
        const author = operator.actor
        const limits = { requestsPerMinute, tokensPerMinute, usdPerDay, usdPerMonth }
        const settings = { name, weight, ...limits, state: 'active' as const }
        let announced = await store.put({ providerId, id, origins, secret, author, ...settings })
        // The new key takes calls before the old one stops.
        if (inPlaceOf !== undefined)
          announced = await setOf(provider, inPlaceOf, { state: 'draining' }, author)
        if (announced) {
          await reread()
          await closeBreaker(providerId)
        }
        return { id, check: checked, announced }
      })
    },

    /** Changes the settings of a key. */
    change(
      operator: Operator,
      provider: Provider,
      id: string,
      change: PlatformKeySettings,
    ): Promise<ChangedPlatformKey> {
      const action = {
        action: 'platform-key.change',
        target: provider.id,
        details: { key: id, ...change },
      }
      return auditedAction(operator, action, async () => {
        const announced = await setOf(provider, id, change, operator.actor)
        if (announced) await reread()
        return { id, announced }
      })
    },

    /** Deletes a stored key; instead of the main one the environment's key is used again, if there is one. */
    remove(operator: Operator, providerId: string, id: string): Promise<ChangedPlatformKey> {
      const action = { action: 'platform-key.remove', target: providerId, details: { key: id } }
      return auditedAction(operator, action, async () => {
        const announced = await store.remove(providerId, id)
        if (announced === null) throw new ApiError('not_found', 'No such key is stored for this provider.')
        if (announced) await reread()
        return { id, announced }
      })
    },
  }

  /** Changes a stored key, or adds settings for that of the environment. */
  async function setOf(
    provider: Provider,
    id: string,
    change: PlatformKeySettings,
    author: string,
  ): Promise<boolean> {
    const announced = await store.change(provider.id, id, change)
    if (announced !== null) return announced
    if (id !== MAIN_KEY || provider.apiKeyEnv === null)
      throw new ApiError('not_found', 'No such key is stored for this provider.')
    const origins = keyOrigins(provider)
    return store.put({ providerId: provider.id, id, origins, secret: null, author, ...change })
  }
}
