import { randomUUID } from 'node:crypto'
import type { OwnTokens } from '../core/auto/own-tokens.ts'
import type { CatalogSource } from '../core/catalog/catalog-snapshot.ts'
import type { PoolKeyLimits } from '../core/routing/key-pool.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { followRedis } from '../platform/redis/follow-redis.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { CATALOG_CHANNEL, CATALOG_OVERLAY } from '../platform/redis/redis-keys.ts'

/** `draining` and `disabled` keys get no new calls; those that run with them end. */
export type PlatformKeyState = 'active' | 'draining' | 'disabled'

/** A platform key that an operator stored. */
export interface OverlayPlatformKey extends Partial<PoolKeyLimits> {
  providerId: string
  /** Unique among the keys of its provider. Absent in what a version before wrote: MAIN_KEY. */
  id?: string
  name?: string
  weight?: number
  state?: PlatformKeyState
  /** The only origins that it may be sent to. */
  origins: string[]
  /** Sealed under the master key. Empty: the settings of the key of the environment. */
  secretSealed: string
  last4: string
  author: string
  /** ISO 8601. */
  createdAt: string
}

/** The shared part of the catalog, on top of what every process reads locally. Secrets in it are sealed. */
export interface CatalogOverlay {
  /** Changes with any part. */
  version: string
  /** The operator's edits, which override everything else; `id` is their version in PostgreSQL. */
  stored: (CatalogSource & { id: string }) | null
  /** Price files, which override the shipped documents but not the operator's. */
  prices: CatalogSource[]
  /** `<provider>/<upstream model>` of offers that their providers no longer list. */
  unlisted: string[]
  /** What completions of this gateway's own calls take, over the shipped documents. */
  ownTokens: OwnTokens
  platformKeys: OverlayPlatformKey[]
}

type OverlayPart = Partial<Omit<CatalogOverlay, 'version'>>

/** Writes parts of the overlay and notifies every process. Other parts stay. */
export async function writeOverlay(redis: Redis, parts: OverlayPart): Promise<void> {
  const version = randomUUID()
  const fields = Object.entries(parts).map(([name, value]) => [name, JSON.stringify(value)] as const)
  await redis
    .multi()
    .hset(CATALOG_OVERLAY, Object.fromEntries([...fields, ['version', version]]))
    .publish(CATALOG_CHANNEL, version)
    .exec()
}

/** Reads the whole overlay; null if Redis has none. Throws if it is broken. */
export async function readOverlay(redis: Redis): Promise<CatalogOverlay | null> {
  const hash = await redis.hgetall(CATALOG_OVERLAY)
  if (hash.version === undefined) return null
  return {
    version: hash.version,
    stored: parsePart(hash.stored, null, isStored),
    prices: parsePart(hash.prices, [], (value) => Array.isArray(value) && value.every(isDocument)),
    unlisted: parsePart(hash.unlisted, [], (value) => Array.isArray(value)),
    ownTokens: parsePart(hash.ownTokens, {}, (value) => typeof value === 'object' && !Array.isArray(value)),
    platformKeys: parsePart(
      hash.platformKeys,
      [],
      (value) => Array.isArray(value) && value.every(isPlatformKey),
    ),
  }
}

/** Whether Redis has an overlay at all. */
export const hasOverlay = async (redis: Redis): Promise<boolean> =>
  (await redis.hexists(CATALOG_OVERLAY, 'version')) === 1

function parsePart<T>(text: string | undefined, absent: T, isValid: (value: unknown) => boolean): T {
  if (text === undefined) return absent
  const value: unknown = JSON.parse(text)
  if (value !== null && !isValid(value)) throw new Error('the catalog overlay in Redis is broken')
  return (value ?? absent) as T
}

const isDocument = (value: unknown): boolean => {
  const document = value as Partial<CatalogSource> | null
  return typeof document?.name === 'string' && typeof document.updatedAt === 'number'
}
const isStored = (value: unknown): boolean =>
  isDocument(value) && typeof (value as { id?: unknown }).id === 'string'

const isPlatformKey = (value: unknown): boolean => {
  const key = value as Partial<OverlayPlatformKey> | null
  return (
    typeof key?.providerId === 'string' && typeof key.secretSealed === 'string' && Array.isArray(key.origins)
  )
}

/** A process's copy of the overlay. */
export type OverlayWatch = Awaited<ReturnType<typeof watchOverlay>>

const POLL_MS = 5_000

/**
 * Reads the overlay and follows its changes: by message, and by polling its version, since messages can be
 * lost. If Redis is unavailable or lost its data, the last copy stays. Waits for Redis at start.
 */
export async function watchOverlay(options: {
  redis: Redis
  /** Subscribes on this connection, which may have other subscriptions. The caller closes it. */
  subscriber: Redis
  logger: Logger
  pollMs?: number
}) {
  const { redis, subscriber, logger } = options
  const listeners = new Set<() => void>()
  let current: CatalogOverlay | null = null
  const read = async () => {
    const next = await readOverlay(redis)
    if (next === null || next.version === current?.version) return
    current = next
    for (const listener of listeners) listener()
  }
  const poll = async () => {
    const version = await redis.hget(CATALOG_OVERLAY, 'version')
    if (version !== null && version !== current?.version) await read()
  }
  const readNow = () =>
    read().catch((error: unknown) => logger.error({ err: error }, 'catalog overlay read failed'))
  let isFirst = true
  const stopFollowing = await followRedis({
    subscriber,
    channel: CATALOG_CHANNEL,
    onMessage: () => void readNow(),
    async read() {
      if (!isFirst) return poll()
      isFirst = false
      await readNow()
    },
    pollMs: options.pollMs ?? POLL_MS,
    onFailure: (error) => logger.warn({ err: error }, 'catalog overlay poll failed, keeping the last one'),
  })
  return {
    current: (): CatalogOverlay | null => current,
    /** Reads a just written overlay, without waiting for its message. */
    reread: read,
    /** Calls back after every change; returns a function that unsubscribes. */
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop(): void {
      stopFollowing()
      listeners.clear()
    },
  }
}
