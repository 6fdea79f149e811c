import type { CatalogSnapshot, Provider } from '../core/catalog/catalog.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { checkKey, type KeyCheck } from '../providers/listings/check-key.ts'
import type { PlatformKeys } from './platform-keys.ts'

const DEADLINE_MS = 10_000

interface TestedKey {
  providerId: string
  /** The variable of the key, or that an operator stored it. */
  origin: string
  /** An Error: the provider did not respond. */
  result: KeyCheck | Error
}

/** Tests every platform key with its provider's list of models, which costs nothing. Never rejects. */
export async function testPlatformKeys(
  { offers }: CatalogSnapshot,
  platformKeys: Pick<PlatformKeys, 'find'>,
): Promise<TestedKey[]> {
  const providers = new Map(Array.from(offers.values(), ({ provider }) => [provider.id, provider]))
  const tested = await Promise.all(
    Array.from(providers.values(), (each) => testPlatformKey(each, platformKeys)),
  )
  return tested.filter((each) => each !== null)
}

async function testPlatformKey(
  provider: Provider,
  platformKeys: Pick<PlatformKeys, 'find'>,
): Promise<TestedKey | null> {
  const key = platformKeys.find(provider)
  if (key === null) return null
  const origin = key.source === 'environment' ? (provider.apiKeyEnv ?? '') : 'stored by an operator'
  const result = await checkKey(provider, key.secret, AbortSignal.timeout(DEADLINE_MS)).catch(
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  return { providerId: provider.id, origin, result }
}

/** Raises an alarm for each rejected platform key; otherwise a mistyped key would first fail calls. Never rejects. */
export async function checkPlatformKeys(
  catalog: CatalogSnapshot,
  {
    platformKeys,
    logger,
  }: { platformKeys: Pick<PlatformKeys, 'find'>; logger: Pick<Logger, 'warn' | 'error'> },
): Promise<void> {
  for (const { providerId, origin, result } of await testPlatformKeys(catalog, platformKeys)) {
    if (result instanceof Error) logger.warn({ err: result, providerId }, 'platform key check failed')
    else if (result === 'unauthorized' || result === 'payment_required')
      logger.error(
        { alarm: 'platform-key-refused', subject: providerId, reason: result, key: origin },
        'platform key refused by its provider',
      )
  }
}
