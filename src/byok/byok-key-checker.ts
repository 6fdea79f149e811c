import { LRUCache } from 'lru-cache'
import type { Provider } from '../core/catalog/catalog.ts'
import { HOUR_MS } from '../core/kernel/time.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { checkKey } from '../providers/listings/check-key.ts'
import { writeReception } from './byok-key-vault.ts'

const DEADLINE_MS = 4_000
const RUNNING_MAX = 20
/** Checks per account, hour and API instance, so that the route cannot be used to validate stolen keys. */
const CHECKS_PER_ACCOUNT = 20
const ACCOUNTS_REMEMBERED = 10_000

export type ByokKeyChecker = ReturnType<typeof createByokKeyChecker>

export function createByokKeyChecker(options: {
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
     * Tries a new key once at its provider, and stores the result. Resolves to whether there was a result: a key stays
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
        const found = await checkKey(provider, secret, signal).catch((error: unknown) => {
          if (signal.aborted) throw error
          // Neither this error nor that of the database contains the key.
          logger.info({ err: error, providerId: provider.id }, 'provider of a new BYOK key unreachable')
          return 'unreachable' as const
        })
        if (found === 'unknown') return false
        await writeReception(postgres, id, found)
        return true
      } catch (error) {
        logger.warn({ err: error, providerKeyId: id, providerId: provider.id }, 'BYOK key check failed')
        return false
      } finally {
        running -= 1
      }
    },
  }
}
