import type { SurfaceId } from '../core/api/surfaces/surface-registry.ts'
import { newId } from '../core/kernel/ids.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { SurfaceGrant } from '../platform/prisma-client/client.ts'

/** The holder of a grant: an account with all its keys, one key, or all accounts. */
export type SurfaceHolder = { accountId: string } | { keyId: string } | { everyAccount: true }

const columnsOf = (holder: SurfaceHolder) => ({
  accountId: 'accountId' in holder ? holder.accountId : null,
  keyId: 'keyId' in holder ? holder.keyId : null,
})

export type StoredSurfaceGrant = SurfaceGrant

export type SurfaceGrantStore = ReturnType<typeof createSurfaceGrantStore>

export const createSurfaceGrantStore = (postgres: Postgres) => ({
  /** Idempotent. */
  async open(surface: SurfaceId, holder: SurfaceHolder): Promise<StoredSurfaceGrant> {
    await postgres.surfaceGrant.createMany({
      data: { id: newId('grant'), surface, ...columnsOf(holder) },
      skipDuplicates: true,
    })
    return postgres.surfaceGrant.findFirstOrThrow({ where: { surface, ...columnsOf(holder) } })
  },

  /** Returns the removed grant; null if there was none. */
  async close(surface: string, holder: SurfaceHolder): Promise<StoredSurfaceGrant | null> {
    const where = { surface, ...columnsOf(holder) }
    const found = await postgres.surfaceGrant.findFirst({ where })
    await postgres.surfaceGrant.deleteMany({ where })
    return found
  },

  /** Oldest first; of one holder, or all. */
  list: (holder?: SurfaceHolder): Promise<StoredSurfaceGrant[]> =>
    postgres.surfaceGrant.findMany({ ...(holder && { where: columnsOf(holder) }), orderBy: { id: 'asc' } }),

  /** Oldest first; of an account and its keys, and of all accounts. */
  listOfAccount: (accountId: string): Promise<StoredSurfaceGrant[]> =>
    postgres.surfaceGrant.findMany({
      where: { OR: [{ accountId }, { key: { accountId } }, { accountId: null, keyId: null }] },
      orderBy: { id: 'asc' },
    }),
})
