import { lastCharacters } from '../core/accounts/api-key.ts'
import type { PoolKeyLimits } from '../core/routing/key-pool.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { createSealer, type MasterKeys } from '../platform/sealing.ts'
import { type OverlayPlatformKey, type PlatformKeyState, writeOverlay } from './catalog-overlay.ts'
import { PLATFORM_KEY_PURPOSE, platformKeyContext } from './platform-keys.ts'

/** What operators set of a key besides its secret. */
export type PlatformKeySettings = Partial<
  Required<Pick<OverlayPlatformKey, 'name' | 'weight' | 'state'>> & PoolKeyLimits
>

interface NewPlatformKey extends PlatformKeySettings {
  providerId: string
  /** Unique among the keys of the provider. */
  id: string
  origins: string[]
  secret: string | null
  author: string
}

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
    /**
     * Stores a key, in place of a previous one with its id, and active. `secret` null: the settings of the environment's key.
     * Resolves to whether every process was notified.
     */
    async put({ providerId, id, secret, ...key }: NewPlatformKey): Promise<boolean> {
      const data = {
        ...key,
        secretSealed: secret && sealer.seal(secret, platformKeyContext(providerId, key.origins)),
        last4: secret === null ? '' : lastCharacters(secret),
        createdAt: new Date(),
      }
      await postgres.platformKey.upsert({
        where: { providerId_id: { providerId, id } },
        create: { providerId, id, ...data },
        update: { state: 'active', ...data },
      })
      return announce()
    },

    /** Changes the settings of a key. Resolves to whether every process was notified; null: there is none. */
    async change(providerId: string, id: string, change: PlatformKeySettings): Promise<boolean | null> {
      const { count } = await postgres.platformKey.updateMany({ where: { providerId, id }, data: change })
      return count === 0 ? null : announce()
    },

    /** Deletes a key with its secret. Resolves to whether every process was notified; null: there is none. */
    async remove(providerId: string, id: string): Promise<boolean | null> {
      const { count } = await postgres.platformKey.deleteMany({ where: { providerId, id } })
      return count === 0 ? null : announce()
    },
  }
}

/** The stored keys in the overlay's format, by provider, oldest first. */
export async function readPlatformKeys(postgres: Postgres): Promise<OverlayPlatformKey[]> {
  const rows = await postgres.platformKey.findMany({ orderBy: [{ providerId: 'asc' }, { createdAt: 'asc' }] })
  return rows.map(({ createdAt, secretSealed, state, ...row }) => ({
    ...row,
    ...{ state: state as PlatformKeyState, secretSealed: secretSealed ?? '' },
    createdAt: createdAt.toISOString(),
  }))
}

/** Copies the stored keys to Redis, from where every process reads them. */
export async function announcePlatformKeys(postgres: Postgres, redis: Redis): Promise<void> {
  await writeOverlay(redis, { platformKeys: await readPlatformKeys(postgres) })
}
