import type { CatalogSnapshot, Provider } from '../core/catalog/catalog.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { checkKey, type KeyCheck } from '../providers/listings/check-key.ts'
import { MAIN_KEY, type PlatformKey, type PlatformKeys } from './platform-keys.ts'

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
  platformKeys: Pick<PlatformKeys, 'pool'>,
): Promise<TestedKey[]> {
  const providers = new Map(Array.from(offers.values(), ({ provider }) => [provider.id, provider]))
  const tests = Array.from(providers.values(), (provider) =>
    platformKeys.pool(provider).map((key) => testPlatformKey(provider, key)),
  )
  return Promise.all(tests.flat())
}

async function testPlatformKey(provider: Provider, key: PlatformKey): Promise<TestedKey> {
  const id = key.id === MAIN_KEY ? '' : `, ${key.id}`
  const origin = key.source === 'environment' ? (provider.apiKeyEnv ?? '') : `stored by an operator${id}`
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
  }: { platformKeys: Pick<PlatformKeys, 'pool'>; logger: Pick<Logger, 'warn' | 'error'> },
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
