import type { Provider } from '../core/catalog/catalog.ts'
import { keyOrigins } from '../core/catalog/platform-key-variables.ts'
import { oncePer } from '../core/kernel/once-per.ts'
import { createSealer, type MasterKeys } from '../platform/sealing.ts'
import type { OverlayPlatformKey, OverlayWatch } from './catalog-overlay.ts'

/** The sealing purpose of platform keys. */
export const PLATFORM_KEY_PURPOSE = 'platform-key'

/** The context of a sealed platform key, which does not open for another provider or other origins. */
export const platformKeyContext = (providerId: string, origins: readonly string[]): string =>
  `${providerId} ${origins.join(' ')}`

/** Our key at a provider: `stored` by an operator, otherwise from the environment. */
interface PlatformKey {
  source: 'stored' | 'environment'
  secret: string
}

/** The gateway's own keys at providers. */
export interface PlatformKeys {
  /** Our key at a provider; null: none is set, or the provider needs none. Costs two map lookups. */
  find(provider: Provider): PlatformKey | null
  /** The stored key of a provider, usable or not; null: none. */
  stored(providerId: string): OverlayPlatformKey | null
}

/** Whether we can call a provider: its key is set, or none is needed. */
export const isUsableWith =
  (keys: Pick<PlatformKeys, 'find'>) =>
  (provider: Provider): boolean =>
    provider.apiKeyEnv === null || keys.find(provider) !== null

/**
 * Finds platform keys: those stored by operators, from the overlay, and otherwise those of the environment. A stored
 * key is used only for the origins it was stored for, since edits of the catalog may change a provider's URL.
 */
export function createPlatformKeys(options: {
  environment: Readonly<Record<string, string | undefined>>
  /** Absent: no key is stored. */
  overlay?: Pick<OverlayWatch, 'current'>
  masterKeys: MasterKeys
  logger: { error(fields: object, message: string): void }
}): PlatformKeys {
  const { environment, overlay, logger } = options
  const sealer = createSealer(options.masterKeys, PLATFORM_KEY_PURPOSE)
  const byProvider = oncePer(
    (keys: readonly OverlayPlatformKey[]) => new Map(keys.map((key) => [key.providerId, key])),
  )
  const open = oncePer(({ providerId, origins, secretSealed }: OverlayPlatformKey): string | null => {
    try {
      return sealer.open(secretSealed, platformKeyContext(providerId, origins))
    } catch (error) {
      logger.error(
        { alarm: 'provider-key-sealed', err: error, providerId },
        'platform key cannot be decrypted; check the configured master keys',
      )
      return null
    }
  })
  const stored = (providerId: string) => {
    const keys = overlay?.current()?.platformKeys
    return (keys && byProvider(keys).get(providerId)) ?? null
  }
  const openFor = (provider: Provider): string | null => {
    const key = stored(provider.id)
    const isForThem = key !== null && keyOrigins(provider).every((origin) => key.origins.includes(origin))
    return isForThem ? open(key) : null
  }
  return {
    find(provider) {
      if (provider.apiKeyEnv === null) return null
      const own = openFor(provider)
      if (own !== null) return { source: 'stored', secret: own }
      const secret = environment[provider.apiKeyEnv]?.trim()
      return secret ? { source: 'environment', secret } : null
    },
    stored,
  }
}
