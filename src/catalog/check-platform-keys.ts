import type { CatalogSnapshot, Provider } from '../core/catalog/catalog.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { checkKey } from '../providers/listings/check-key.ts'
import type { PlatformKeys } from './platform-keys.ts'

const DEADLINE_MS = 10_000

/**
 * Checks every platform key with its provider's list of models, which costs nothing. Raises an alarm for each rejected
 * key; otherwise a mistyped key would first fail calls. Never rejects.
 */
export async function checkPlatformKeys(
  { offers }: CatalogSnapshot,
  deps: { platformKeys: Pick<PlatformKeys, 'find'>; logger: Pick<Logger, 'warn' | 'error'> },
): Promise<void> {
  const providers = new Map(Array.from(offers.values(), ({ provider }) => [provider.id, provider]))
  await Promise.all(Array.from(providers.values(), (provider) => checkPlatformKey(provider, deps)))
}

async function checkPlatformKey(
  provider: Provider,
  { platformKeys, logger }: Parameters<typeof checkPlatformKeys>[1],
): Promise<void> {
  const key = platformKeys.find(provider)
  if (key === null) return
  const { id: providerId, apiKeyEnv } = provider
  try {
    const found = await checkKey(provider, key.secret, AbortSignal.timeout(DEADLINE_MS))
    if (found !== 'unauthorized' && found !== 'payment_required') return
    const origin = key.source === 'environment' ? apiKeyEnv : 'stored by an operator'
    logger.error(
      { alarm: 'platform-key-refused', subject: providerId, reason: found, key: origin },
      'platform key refused by its provider',
    )
  } catch (error) {
    logger.warn({ err: error, providerId }, 'platform key check failed')
  }
}
