import { lastCharacters } from '../core/accounts/api-key.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { createSealer, type MasterKeys } from '../platform/sealing.ts'
import { type OverlayPlatformKey, writeOverlay } from './catalog-overlay.ts'
import { PLATFORM_KEY_PURPOSE, platformKeyContext } from './platform-keys.ts'

/** The platform keys stored by operators: sealed in PostgreSQL, and copied to the overlay of every process. */
export type PlatformKeyStore = ReturnType<typeof createPlatformKeyStore>

export function createPlatformKeyStore(options: {
  postgres: Postgres
  redis: Redis
  masterKeys: MasterKeys
}) {
  const { postgres, redis } = options
  const sealer = createSealer(options.masterKeys, PLATFORM_KEY_PURPOSE)
  /** False if Redis is away; the catalog worker then copies them. */
  const announce = () =>
    announcePlatformKeys(postgres, redis).then(
      () => true,
      () => false,
    )
  return {
    /** Stores a key in place of the previous one. Resolves to whether every process was notified. */
    async put(key: {
      providerId: string
      origins: string[]
      secret: string
      author: string
    }): Promise<boolean> {
      const { providerId, origins, secret, author } = key
      const secretSealed = sealer.seal(secret, platformKeyContext(providerId, origins))
      const data = { origins, secretSealed, last4: lastCharacters(secret), author, createdAt: new Date() }
      await postgres.platformKey.upsert({
        where: { providerId },
        create: { providerId, ...data },
        update: data,
      })
      return announce()
    },

    /** Deletes a key with its secret. Resolves to whether every process was notified; null: there is none. */
    async remove(providerId: string): Promise<boolean | null> {
      const { count } = await postgres.platformKey.deleteMany({ where: { providerId } })
      return count === 0 ? null : announce()
    },
  }
}

/** The stored keys in the overlay's format, by provider. */
export async function readPlatformKeys(postgres: Postgres): Promise<OverlayPlatformKey[]> {
  const rows = await postgres.platformKey.findMany({ orderBy: { providerId: 'asc' } })
  return rows.map(({ createdAt, ...row }) => ({ ...row, createdAt: createdAt.toISOString() }))
}

/** Copies the stored keys to Redis, from where every process reads them. */
export async function announcePlatformKeys(postgres: Postgres, redis: Redis): Promise<void> {
  await writeOverlay(redis, { platformKeys: await readPlatformKeys(postgres) })
}
