import { Redis as Client, type RedisOptions } from 'ioredis'
import type { Logger } from 'pino'
import { StartError } from '../../core/kernel/errors.ts'
import { enforceDeadlines, type RedisDeadlines } from './redis-deadlines.ts'
import type { Sharded } from './redis-keys.ts'

/** A client of Redis that knows how many shards the accounts are spread over (see redis-keys.ts). */
export type Redis = Client & Sharded

export interface RedisClientOptions {
  /** `redis://…`, `rediss://…`, or `unix:///path/to.sock`. */
  url: string
  /** Shown in CLIENT LIST. */
  name: string
  /**
   * `fail-fast` for request paths: a command fails within about two seconds when Redis hangs, within one when it is
   * away, and at once while it stays away. `wait` for workers and subscribers: commands wait until it is back. A silent
   * connection is reconnected, and its commands are sent again.
   */
  mode: 'fail-fast' | 'wait'
  /** For clients of BullMQ workers: maximum time of a blocking read over a duplicate of this client. */
  blockingMs?: number
  /** The number of shards of the installation. Absent: one. */
  shards?: number
  logger?: Logger
}

const RECONNECT_MS = 100

const DEADLINES: Record<RedisClientOptions['mode'], RedisDeadlines> = {
  'fail-fast': { silenceMs: 2_000, awayMs: 600, idlePingMs: null },
  // Longer than for `fail-fast`: a resent command may run twice, which costs more than waiting.
  wait: { silenceMs: 10_000, awayMs: null, idlePingMs: 5_000 },
}

/** The maximum that BullMQ uses. */
const BLOCKING_MAX_MS = 10_000

const URL_FORM = /^(?:rediss?|unix):\/\//

/**
 * Creates a Redis client that reconnects for as long as it lives. The caller owns it and quits it. Throws for an
 * address that is not of a single server.
 */
export function createRedis(given: RedisClientOptions): Redis {
  const { url, name, mode, blockingMs = BLOCKING_MAX_MS, shards = 1, logger } = given
  if (!URL_FORM.test(url)) throw new Error('REDIS_URL must begin with redis://, rediss:// or unix://')
  const deadlines = DEADLINES[mode]
  const options: RedisOptions = {
    connectionName: name,
    // Constant and short: a subscriber must be back before a worker concludes that its channel has none.
    retryStrategy: () => RECONNECT_MS,
    maxRetriesPerRequest: null,
    connectTimeout: deadlines.silenceMs,
    enableReadyCheck: true,
    // While Redis loads its data, ioredis would otherwise wait for a second or more.
    maxLoadingRetryTime: RECONNECT_MS,
  }
  const client = url.startsWith('unix://')
    ? new Client({ ...options, path: url.slice('unix://'.length) })
    : new Client(url, options)
  client.on('connect', () => sendOncePerTurn(client))
  enforceDeadlines(client, deadlines)
  // BullMQ's duplicate does blocking reads: silence means nothing until the read ends.
  client.duplicate = (override) => {
    const duplicate = Client.prototype.duplicate.call(client, override)
    enforceDeadlines(duplicate, {
      ...deadlines,
      silenceMs: deadlines.silenceMs + blockingMs,
      idlePingMs: null,
    })
    return duplicate
  }
  let reported = false
  client.on('ready', () => {
    if (reported) logger?.info({ redis: name }, 'redis is back')
    reported = false
  })
  client.on('error', (error) => {
    if (!reported) logger?.error({ redis: name, err: error }, 'redis is away')
    reported = true
  })
  return Object.assign(client, { shards })
}

/**
 * Sends the commands of one event-loop turn in one write. ioredis writes each command separately, with a system call
 * and a wake-up of Redis each time; under load a turn has many.
 */
function sendOncePerTurn({ stream }: Client): void {
  const write = stream.write.bind(stream)
  let isCorked = false
  stream.write = ((...args: Parameters<typeof write>) => {
    if (!isCorked) {
      isCorked = true
      stream.cork()
      setImmediate(() => {
        isCorked = false
        stream.uncork()
      })
    }
    return write(...args)
  }) as typeof stream.write
}

/** Redis's refusals of writes: out of memory, a replica, a failing disk, too few replicas. */
const REFUSED_WRITE = /(?:^|[ -])(?:OOM|READONLY|MISCONF|NOREPLICAS) /

/** Whether Redis responded and refused a command, or a script at its first write, because it accepts no writes. */
export const isRefusedWrite = (error: unknown): boolean =>
  error instanceof Error && REFUSED_WRITE.test(error.message)

/** A Lua script bound to a client. Runs by EVALSHA and is loaded on first use. */
export type RedisScript = (keys: string[], args: Array<string | number>) => Promise<unknown>

/** Defines a script on a client. `script` opens with a comment naming its KEYS, ARGV and returns. */
export function defineScript(client: Redis, name: string, script: string): RedisScript {
  client.defineCommand(name, { lua: script })
  const run = (client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]!
  return (keys, args) => run.call(client, keys.length, ...keys, ...args)
}

/**
 * Checks the settings that consistency depends on. Throws for a Cluster or a Sentinel, and when eviction could drop
 * balances; logs a warning when a crash could.
 */
export async function checkRedisSettings(client: Redis, logger: Logger): Promise<void> {
  const info = await client.info('server', 'memory', 'persistence', 'cluster')
  const isCluster = /cluster_enabled:1/.test(info)
  const mode = isCluster ? 'cluster' : (/redis_mode:(\S+)/.exec(info)?.[1] ?? 'standalone')
  if (mode !== 'standalone') {
    throw new StartError(`REDIS_URL must be the address of a single Redis server; this one runs as a ${mode}`)
  }
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1]
  if (policy !== 'noeviction') {
    throw new StartError(
      `Redis must run with maxmemory-policy noeviction, not ${policy}: eviction would drop balances and jobs`,
    )
  }
  if (!/aof_enabled:1/.test(info)) {
    logger.warn('redis has no append-only file: a crash would lose holds and queued calls')
  }
}
