import type { Provider } from '../core/catalog/catalog.ts'
import { keyOrigins } from '../core/catalog/platform-key-variables.ts'
import { oncePer } from '../core/kernel/once-per.ts'
import type { PoolKeyLimits, WeightedKey } from '../core/routing/key-pool.ts'
import { createSealer, type MasterKeys } from '../platform/sealing.ts'
import type { OverlayPlatformKey, OverlayWatch, PlatformKeyState } from './catalog-overlay.ts'

/** The sealing purpose of platform keys. */
export const PLATFORM_KEY_PURPOSE = 'platform-key'

/** The context of a sealed platform key, which does not open for another provider or other origins. */
export const platformKeyContext = (providerId: string, origins: readonly string[]): string =>
  `${providerId} ${origins.join(' ')}`

/** The id of the first key of a provider: the one of its variable, or one that is stored in its place. */
export const MAIN_KEY = 'main'

/** One of our keys at a provider: `stored` by an operator, otherwise from the environment. */
export interface PlatformKey extends WeightedKey, PoolKeyLimits {
  source: 'stored' | 'environment'
  secret: string
  state: PlatformKeyState
}

/** The gateway's own keys at providers. */
export interface PlatformKeys {
  /** The first key that takes calls at a provider; null: there is none, or the provider needs none. */
  find(provider: Provider): PlatformKey | null
  /** The keys that take calls at a provider, the main one first. Costs two map lookups. */
  pool(provider: Provider): readonly PlatformKey[]
  /** All keys that can be used at a provider, in whatever state. */
  all(provider: Provider): readonly PlatformKey[]
  /** The stored keys of a provider, usable or not, by creation. */
  stored(providerId: string): readonly OverlayPlatformKey[]
}

/** Whether we can call a provider: its key is set, or none is needed. */
export const isUsableWith =
  (keys: Pick<PlatformKeys, 'find'>) =>
  (provider: Provider): boolean =>
    provider.apiKeyEnv === null || keys.find(provider) !== null

const NOTHING_STORED: readonly OverlayPlatformKey[] = []

/**
 * Finds platform keys: those stored by operators, from the overlay, and that of the environment, unless one is stored in its place.
 * A stored key is used only for the origins it was stored for, since edits of the catalog may change a provider's URL.
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
  const byProvider = oncePer((keys: readonly OverlayPlatformKey[]) =>
    Map.groupBy(keys, ({ providerId }) => providerId),
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
  const stored = (providerId: string): readonly OverlayPlatformKey[] => {
    const keys = overlay?.current()?.platformKeys
    return (keys && byProvider(keys).get(providerId)) ?? NOTHING_STORED
  }
  const openFor = (provider: Provider, key: OverlayPlatformKey): string | null =>
    keyOrigins(provider).every((origin) => key.origins.includes(origin)) ? open(key) : null

  const keysOf = (provider: Provider): PlatformKey[] => {
    if (provider.apiKeyEnv === null) return []
    const rows = stored(provider.id)
    const keys = rows.flatMap((row): PlatformKey[] => {
      const secret = row.secretSealed === '' ? null : openFor(provider, row)
      return secret === null ? [] : [{ source: 'stored', secret, ...settingsOf(row) }]
    })
    const secret = environment[provider.apiKeyEnv]?.trim()
    const isReplaced = keys.some(({ id }) => id === MAIN_KEY)
    if (secret && !isReplaced) {
      const settings = rows.find((row) => idOf(row) === MAIN_KEY && row.secretSealed === '')
      keys.push({ source: 'environment', secret, ...settingsOf(settings) })
    }
    return keys.sort((one, other) => Number(other.id === MAIN_KEY) - Number(one.id === MAIN_KEY))
  }
  const pools = new WeakMap<Provider, { rows: readonly OverlayPlatformKey[]; pool: readonly PlatformKey[] }>()
  const pool = (provider: Provider): readonly PlatformKey[] => {
    const rows = stored(provider.id)
    const known = pools.get(provider)
    if (known?.rows === rows) return known.pool
    const active = keysOf(provider).filter(({ state }) => state === 'active')
    pools.set(provider, { rows, pool: active })
    return active
  }
  return {
    find: (provider) => pool(provider)[0] ?? null,
    pool,
    all: keysOf,
    stored,
  }
}

export const idOf = ({ id = MAIN_KEY }: Pick<OverlayPlatformKey, 'id'>): string => id

const settingsOf = (row?: OverlayPlatformKey): Omit<PlatformKey, 'source' | 'secret'> => ({
  id: row?.id ?? MAIN_KEY,
  weight: row?.weight ?? 1,
  state: row?.state ?? 'active',
  requestsPerMinute: row?.requestsPerMinute ?? null,
  tokensPerMinute: row?.tokensPerMinute ?? null,
  usdPerDay: row?.usdPerDay ?? null,
  usdPerMonth: row?.usdPerMonth ?? null,
})
