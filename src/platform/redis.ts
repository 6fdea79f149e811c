import { Redis, type RedisOptions } from 'ioredis'
import type { Logger } from 'pino'

export type { Redis } from 'ioredis'

export interface RedisClientOptions {
  /** `redis://…`, `rediss://…`, or `unix:///path/to.sock`. */
  url: string
  /** Shown in CLIENT LIST. */
  name: string
  /**
   * `fail-fast` for request paths: a command fails within about a second when Redis is away.
   * `wait` for workers and subscribers: commands wait until it is back.
   */
  mode: 'fail-fast' | 'wait'
  logger?: Logger
}

const RECONNECT_MS = 100
const FAIL_FAST_RETRIES = 5

/** A Redis client that reconnects for as long as it lives. The caller owns it and quits it. */
export function createRedis({ url, name, mode, logger }: RedisClientOptions): Redis {
  const options: RedisOptions = {
    connectionName: name,
    // Constant and short: a reply channel must be back before a worker concludes that nobody listens.
    retryStrategy: () => RECONNECT_MS,
    maxRetriesPerRequest: mode === 'wait' ? null : FAIL_FAST_RETRIES,
    enableReadyCheck: true,
    // While Redis loads its data a client would otherwise look away for a second or more.
    maxLoadingRetryTime: RECONNECT_MS,
  }
  const client = url.startsWith('unix://')
    ? new Redis({ ...options, path: url.slice('unix://'.length) })
    : new Redis(url, options)
  client.on('connect', () => sendOncePerTurn(client))
  let reported = false
  client.on('ready', () => {
    if (reported) logger?.info({ redis: name }, 'redis is back')
    reported = false
  })
  client.on('error', (error) => {
    if (!reported) logger?.error({ redis: name, err: error }, 'redis is away')
    reported = true
  })
  return client
}

/**
 * Makes the commands of one event-loop turn leave in one write. ioredis writes each command as it comes, a
 * system call and a wake-up of Redis every time; under load a turn has many.
 */
function sendOncePerTurn({ stream }: Redis): void {
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

/** A Lua script bound to a client; runs by EVALSHA, loaded on first use. */
export type RedisScript = (keys: string[], args: Array<string | number>) => Promise<unknown>

/** Defines a script on a client. `script` opens with a comment naming its KEYS, ARGV and returns. */
export function defineScript(client: Redis, name: string, script: string): RedisScript {
  client.defineCommand(name, { lua: script })
  const run = (client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]!
  return (keys, args) => run.call(client, keys.length, ...keys, ...args)
}

/** Checks the settings that safety rests on. Throws when eviction could drop balances; warns when a crash could. */
export async function checkRedisSettings(client: Redis, logger: Logger): Promise<void> {
  const info = await client.info('memory', 'persistence')
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1]
  if (policy !== 'noeviction') {
    throw new Error(
      `Redis must run with maxmemory-policy noeviction, not ${policy}: eviction would drop balances and jobs`,
    )
  }
  if (!/aof_enabled:1/.test(info)) {
    logger.warn('redis runs without an append-only file: a crash of redis loses holds and queued calls')
  }
}
