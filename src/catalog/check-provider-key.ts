import { LRUCache } from 'lru-cache'
import type { Provider } from '../core/catalog/catalog.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { openListing } from '../providers/listings/read-listing.ts'
import { type KeyReception, writeReception } from './provider-key-vault.ts'

/** The result of a check; `unknown`: inconclusive. */
export type KeyCheck = Exclude<KeyReception, 'unreachable'> | 'unknown'

const DEADLINE_MS = 4_000
const RUNNING_MAX = 20
/** Checks per account, hour and API instance, so that the route cannot be used to validate stolen keys. */
const CHECKS_PER_ACCOUNT = 20
const ACCOUNTS_REMEMBERED = 10_000
const HOUR_MS = 3_600_000
const REFUSAL_MAX_BYTES = 64 * 1024

/** The generate-content wire's error for a wrong key; its status is less specific. */
const INVALID_KEY = /API_KEY_INVALID|API_KEY_EXPIRED|api key (not valid|expired|not found)/i

export type ProviderKeyChecker = ReturnType<typeof createProviderKeyChecker>

export function createProviderKeyChecker(options: {
  postgres: Pick<Postgres, '$executeRawUnsafe'>
  logger: Logger
  clock: () => number
  deadlineMs?: number
}) {
  const { postgres, logger, clock, deadlineMs = DEADLINE_MS } = options
  const checks = new LRUCache<string, { count: number; endsAtMs: number }>({ max: ACCOUNTS_REMEMBERED })
  let running = 0

  const mayCheck = (accountId: string): boolean => {
    const known = checks.get(accountId)
    const counted = known && known.endsAtMs > clock() ? known : { count: 0, endsAtMs: clock() + HOUR_MS }
    if (running >= RUNNING_MAX || counted.count >= CHECKS_PER_ACCOUNT) return false
    checks.set(accountId, { ...counted, count: counted.count + 1 })
    return true
  }

  return {
    /**
     * Tries a new key once at its provider, and stores the result. Resolves to whether there was one: a key stays
     * unchecked if its provider does not respond in time or publishes its model list without a key. Never rejects.
     */
    async check(
      { id, accountId, secret }: { id: string; accountId: string; secret: string },
      provider: Provider,
    ) {
      if (!mayCheck(accountId)) return false
      running += 1
      try {
        const signal = AbortSignal.timeout(deadlineMs)
        const found = await checkProviderKey(provider, secret, signal).catch((error: unknown) => {
          if (signal.aborted) throw error
          // Neither this error nor that of the database contains the key.
          logger.info(
            { err: error, providerId: provider.id },
            'the provider of a new key could not be reached',
          )
          return 'unreachable' as const
        })
        if (found === 'unknown') return false
        await writeReception(postgres, id, found)
        return true
      } catch (error) {
        logger.warn(
          { err: error, providerKeyId: id, providerId: provider.id },
          'a new provider key could not be checked',
        )
        return false
      } finally {
        running -= 1
      }
    },
  }
}

/**
 * Requests a provider's model list with a BYOK key, only at the address in the catalog: a
 * redirect is an error. Rejects if there is no response in time.
 */
export async function checkProviderKey(
  provider: Provider,
  secret: string,
  signal: AbortSignal,
): Promise<KeyCheck> {
  const answer = await openListing(provider, secret, signal)
  if (!answer.ok) return refusalOf(answer)
  await answer.body?.cancel()
  // A public list proves nothing about the key.
  const open = await openListing(provider, undefined, signal)
  await open.body?.cancel()
  return open.status === 401 || open.status === 403 || open.status === 400 ? 'accepted' : 'unknown'
}

/** A 403 may apply to the list only: a key can be restricted to calls. */
async function refusalOf(answer: Response): Promise<KeyCheck> {
  const text = answer.status === 400 ? await beginningOf(answer) : ''
  await answer.body?.cancel()
  if (answer.status === 401 || INVALID_KEY.test(text)) return 'unauthorized'
  return answer.status === 402 ? 'payment_required' : 'unknown'
}

async function beginningOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = answer.body?.getReader()
  while (reader && bytes < REFUSAL_MAX_BYTES) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    bytes += value.byteLength
  }
  reader?.releaseLock()
  return Buffer.concat(chunks).toString('utf8')
}
