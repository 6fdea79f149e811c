import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { writeOverlay } from './catalog-overlay.ts'

export interface StoredDocument {
  /** Counts up. */
  version: string
  content: Record<string, unknown>
  author: string
  createdAt: Date
}

export type StoredEdits =
  /** `announced` is false if it is not in Redis yet; the catalog worker then copies it. */
  | { kind: 'stored'; document: StoredDocument; announced: boolean }
  /** Other edits were stored since `expectedVersion`. */
  | { kind: 'conflict'; current: string | null }

/** The operators' catalog edits: a document in PostgreSQL that overrides all others, with all its versions. */
export type CatalogEdits = ReturnType<typeof createCatalogEdits>

export const createCatalogEdits = (postgres: Postgres, redis: Redis) => ({
  /** The current version; null before the first. */
  current: (): Promise<StoredDocument | null> => latestEdits(postgres),

  /** An earlier or the current version; null: there is none of that number. */
  async find(version: string): Promise<StoredDocument | null> {
    if (!/^\d{1,18}$/.test(version)) return null
    const row = await postgres.catalogDocument.findUnique({ where: { id: BigInt(version) } })
    return row && toStored(row)
  },

  /** Newest first. */
  async history(limit: number): Promise<StoredDocument[]> {
    const rows = await postgres.catalogDocument.findMany({ orderBy: { id: 'desc' }, take: limit })
    return rows.map(toStored)
  },

  /**
   * Makes a checked document the current version.
   * @param expectedVersion the version the edits were based on, so that concurrent edits are not lost; absent: any
   */
  async store(content: unknown, author: string, expectedVersion?: string | null): Promise<StoredEdits> {
    const written = await postgres.$transaction(async (transaction) => {
      await transaction.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('catalog_documents'))`
      const latest = await transaction.catalogDocument.findFirst({ orderBy: { id: 'desc' } })
      const version = latest === null ? null : String(latest.id)
      if (expectedVersion !== undefined && expectedVersion !== version) return { conflict: version }
      return {
        row: await transaction.catalogDocument.create({ data: { content: content as object, author } }),
      }
    })
    if ('conflict' in written) return { kind: 'conflict', current: written.conflict ?? null }
    const announced = await announceEdits(postgres, redis).then(
      () => true,
      () => false,
    )
    return { kind: 'stored', document: toStored(written.row), announced }
  },
})

/** The current edits; null before the first. */
async function latestEdits(postgres: Postgres): Promise<StoredDocument | null> {
  const row = await postgres.catalogDocument.findFirst({ orderBy: { id: 'desc' } })
  return row === null ? null : toStored(row)
}

/** The current version without its content; null before the first. */
export async function latestEditsVersion(postgres: Postgres): Promise<string | null> {
  const row = await postgres.catalogDocument.findFirst({ orderBy: { id: 'desc' }, select: { id: true } })
  return row === null ? null : String(row.id)
}

/** Copies the current edits to Redis, from where every process reads them. */
export async function announceEdits(postgres: Postgres, redis: Redis): Promise<void> {
  const document = await latestEdits(postgres)
  if (document === null) return
  const { version, content, createdAt } = document
  const updatedAt = Math.floor(createdAt.getTime() / 1000)
  await writeOverlay(redis, {
    stored: { id: version, name: `the operator's edits ${version}`, content, updatedAt },
  })
}

const toStored = (row: {
  id: bigint
  content: unknown
  author: string
  createdAt: Date
}): StoredDocument => ({
  version: String(row.id),
  content: row.content as Record<string, unknown>,
  author: row.author,
  createdAt: row.createdAt,
})
