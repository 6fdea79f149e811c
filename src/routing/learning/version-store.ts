import { writeOverlay } from '../../catalog/catalog-overlay.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { RouterVersion } from '../../platform/prisma-client/client.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import type { LearnedVersion, LearningReport } from './learn-version.ts'

export interface StoredVersion extends LearnedVersion {
  /** Counts up. */
  id: string
  author: string
  createdAt: Date
  installedAt: Date | null
  /** It applies now. */
  isInstalled: boolean
}

export type RouterVersions = ReturnType<typeof createRouterVersions>

/**
 * The learned versions of the router in PostgreSQL. The one installed last applies, as a document of the catalog; a
 * rollback ends its installation, so that the one installed before applies, or without one the shipped router.
 */
export const createRouterVersions = (postgres: Postgres, redis: Redis) => ({
  async add({ content, report }: LearnedVersion, author: string): Promise<string> {
    const data = { content: content as object, report: report as object, author }
    const { id } = await postgres.routerVersion.create({ data })
    return String(id)
  },

  /** Newest first. */
  async list(limit: number): Promise<StoredVersion[]> {
    const rows = await postgres.routerVersion.findMany({ orderBy: { id: 'desc' }, take: limit })
    const installed = await installedVersion(postgres)
    return rows.map((row) => toStored(row, installed))
  },

  /** The version that applies; null: the shipped router. */
  installed: () => installedVersion(postgres),

  async find(id: string): Promise<StoredVersion | null> {
    if (!/^\d{1,18}$/.test(id)) return null
    const row = await postgres.routerVersion.findUnique({ where: { id: BigInt(id) } })
    return row && toStored(row, await installedVersion(postgres))
  },

  /** Makes a stored version apply in the whole fleet. */
  async install(id: string): Promise<void> {
    await postgres.routerVersion.update({ where: { id: BigInt(id) }, data: { installedAt: new Date() } })
    await announceInstalled(postgres, redis)
  },

  /** Resolves to the version that applies now; null: the shipped router. */
  async rollback(): Promise<string | null> {
    const id = await installedVersion(postgres)
    if (id !== null)
      await postgres.routerVersion.update({ where: { id: BigInt(id) }, data: { installedAt: null } })
    await announceInstalled(postgres, redis)
    return installedVersion(postgres)
  },
})

/** The version that applies; null: the shipped router. */
export async function installedVersion(postgres: Postgres): Promise<string | null> {
  const row = await installedRow(postgres, { id: true })
  return row === null ? null : String(row.id)
}

/** Copies the installed version to Redis, from where every process reads it as a part of the catalog. */
export async function announceInstalled(postgres: Postgres, redis: Redis): Promise<void> {
  const row = await installedRow(postgres, { id: true, content: true, createdAt: true })
  const updatedAt = row && Math.floor(row.createdAt.getTime() / 1000)
  await writeOverlay(redis, {
    learned:
      row === null
        ? null
        : {
            ...{ id: String(row.id), name: `version ${row.id} of the router` },
            ...{ content: row.content, updatedAt: updatedAt! },
          },
  })
}

const installedRow = <Columns extends Partial<Record<keyof RouterVersion, true>>>(
  postgres: Postgres,
  select: Columns,
) =>
  postgres.routerVersion.findFirst({
    where: { installedAt: { not: null } },
    orderBy: [{ installedAt: 'desc' }, { id: 'desc' }],
    select,
  })

const toStored = (row: RouterVersion, installed: string | null): StoredVersion => ({
  id: String(row.id),
  content: row.content as LearnedVersion['content'],
  report: row.report as unknown as LearningReport,
  author: row.author,
  createdAt: row.createdAt,
  installedAt: row.installedAt,
  isInstalled: String(row.id) === installed,
})
