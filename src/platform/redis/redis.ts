import { Redis as Client, type RedisOptions } from 'ioredis'
import type { Logger } from 'pino'
import { StartError } from '../../core/kernel/errors.ts'
import { parseRedisUrl, type RedisAddress } from '../../core/kernel/redis-address.ts'
import { clusterConnector } from './cluster-connector.ts'
import { enforceDeadlines, type RedisDeadlines } from './redis-deadlines.ts'
import { queuePrefix, type Sharded, shardNumbers, shardOf, shardOfKey } from './redis-keys.ts'

/**
 * A client of Redis that knows the shards that the accounts are spread over (see redis-keys.ts). It reaches the server of
 * the first shard, which also has what belongs to the whole fleet.
 */
export type Redis = Client &
  Sharded & {
    readonly isInCluster: boolean
    /**
     * The client that reaches the keys of a shard: another connection, opened on first use, if another server has them or
     * may have them. Each of these clients is closed by its owner, see `openedClients`.
     */
    shard(shard: number): Redis
    /** These clients, as far as they are open. */
    openedClients(): Redis[]
  }

export interface RedisClientOptions {
  /** REDIS_URL, see redis-address.ts. */
  url: string
  /** Shown in CLIENT LIST. */
  name: string
  /**
   * `fail-fast` for request paths: a command fails within about two seconds when Redis hangs, within one when it is
   * away, and at once while it stays away. `wait` for workers: commands wait until it is back. A silent
   * connection is reconnected, and its commands are sent again. `follow` for hearing the messages of calls: waits, and
   * notices silence within three seconds, so that it follows a new primary as soon as the commands of calls do.
   */
  mode: 'fail-fast' | 'wait' | 'follow'
  /** For clients of BullMQ workers: maximum time of a blocking read over a duplicate of this client. */
  blockingMs?: number
  /** The number of shards of the installation. Absent: one. */
  shards?: number
  /** The shard to connect to first. Absent: the first one. */
  shard?: number
  logger?: Logger
}

const RECONNECT_MS = 100

const DEADLINES: Record<RedisClientOptions['mode'], RedisDeadlines> = {
  'fail-fast': { silenceMs: 2_000, awayMs: 600, idlePingMs: null },
  // Longer than for `fail-fast`: a resent command may run twice, which costs more than waiting.
  wait: { silenceMs: 10_000, awayMs: null, idlePingMs: 5_000 },
  follow: { silenceMs: 2_000, awayMs: null, idlePingMs: 1_000 },
}

/** The maximum that BullMQ uses. */
const BLOCKING_MAX_MS = 10_000

/**
 * Creates a Redis client that reconnects for as long as it lives, to the primary of that time. The caller owns it and
 * quits it. Throws for an invalid address.
 */
export function createRedis(given: RedisClientOptions): Redis {
  const { shards = 1 } = given
  const address = parseRedisUrl(given.url)
  const clients: Redis[] = []
  const common = {
    ...{ shards, isInCluster: address.kind === 'cluster' },
    shard(shard: number): Redis {
      const place = shard % placesOf(address, shards)
      clients[place] ??= Object.assign(openClient(given, address, place), common)
      return clients[place]
    },
    openedClients: () => clients.flat(),
  }
  return common.shard(given.shard ?? 0)
}

/** How many connections reach all shards. The slots of a cluster may be at different nodes. */
function placesOf(address: RedisAddress, shards: number): number {
  if (address.kind === 'cluster') return shards
  return address.kind === 'servers' ? Math.min(address.urls.length, shards) : 1
}

/** The clients of all shards, each once, with the first shard that it reaches. */
export function serversOf(redis: Redis): Array<{ shard: number; client: Redis }> {
  const clients = shardNumbers(redis).map((shard) => redis.shard(shard))
  return [...new Set(clients)].map((client) => ({ shard: clients.indexOf(client), client }))
}

/** The client for the keys of an account. */
export const redisOf = (accountId: string, redis: Redis): Redis =>
  redis.shards === 1 ? redis : redis.shard(shardOf(accountId, redis))

/** Opens a connection to the server that has a shard. */
function openClient(given: RedisClientOptions, address: RedisAddress, shard: number): Client {
  const { name, mode, blockingMs = BLOCKING_MAX_MS, shards = 1, logger } = given
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
  const client = connectTo(address, shard, options, deadlines)
  // The parts of all shards use it.
  if (shards > 1) client.setMaxListeners(Number.POSITIVE_INFINITY)
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
  return client
}

function connectTo(
  address: RedisAddress,
  shard: number,
  common: RedisOptions,
  { awayMs, silenceMs }: RedisDeadlines,
): Client {
  if (address.kind === 'server') return connectToServer(address.url, common)
  if (address.kind === 'servers') return connectToServer(address.urls[shard]!, common)
  const { username, password, tls } = address
  const options: RedisOptions = {
    ...common,
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls: {} }),
    reconnectOnError: followPrimary(awayMs ?? silenceMs),
  }
  if (address.kind === 'cluster')
    return new Client({ ...options, Connector: clusterConnector(address, queuePrefix(shard)) })
  const { username: sentinelUsername, password: sentinelPassword } = address.sentinel
  return new Client({
    ...options,
    sentinels: address.hosts,
    name: address.name,
    ...(sentinelUsername && { sentinelUsername }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(tls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: () => RECONNECT_MS,
    sentinelCommandTimeout: silenceMs,
  })
}

const connectToServer = (url: string, options: RedisOptions): Client =>
  url.startsWith('unix://')
    ? new Client({ ...options, path: url.slice('unix://'.length) })
    : new Client(url, options)

/**
 * Replies of a server that does not have what a command touches: it is no longer the primary, or a slot moves. Nothing
 * was done.
 */
const MISPLACED = /(?:^|[ -])(?:READONLY|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|UNBLOCKED) /
/** Later than this, a misplaced command is the first of another fail-over. */
const FAILOVER_PAUSE_MS = 5_000

/**
 * Reconnects on such a reply, and sends the command again over the new connection; for `patienceMs`, after which the
 * command fails. It reconnects after that too: a slot may move for minutes.
 */
function followPrimary(patienceMs: number): (error: Error) => 1 | 2 | false {
  let [firstAt, lastAt] = [0, 0]
  return ({ message }) => {
    if (!MISPLACED.test(message)) return false
    const now = Date.now()
    if (now - lastAt > FAILOVER_PAUSE_MS) firstAt = now
    lastAt = now
    return now - firstAt > patienceMs ? 1 : 2
  }
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
export type RedisScript = (keys: string[], args: Array<string | number | Buffer>) => Promise<unknown>

/**
 * Defines a script on a client; it runs at the server of its first key's shard. `script` opens with a comment naming its
 * KEYS, ARGV and returns.
 */
export function defineScript(
  redis: Redis,
  name: string,
  script: string,
  returns: Returned = 'text',
): RedisScript {
  if (redis.shards === 1) return defineOn(redis, name, script, returns)
  const scripts = new Map<Redis, RedisScript>()
  return (keys, args) => {
    const client = redis.shard(shardOfKey(keys[0]!))
    const run = scripts.get(client) ?? defineOn(client, name, script, returns)
    scripts.set(client, run)
    return run(keys, args)
  }
}

/** What the strings of a script's reply are read as. */
type Returned = 'text' | 'bytes'

function defineOn(client: Client, name: string, script: string, returns: Returned): RedisScript {
  client.defineCommand(name, { lua: script })
  const command = returns === 'text' ? name : `${name}Buffer`
  const run = (client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[command]!
  return (keys, args) => run.call(client, keys.length, ...keys, ...args)
}

/**
 * Checks the settings that consistency depends on, at each server of the shards. Throws for a Sentinel, for a cluster
 * without its scheme, and when eviction could drop balances; logs a warning when a crash could.
 */
export async function checkRedisSettings(redis: Redis, logger: SettingsLogger): Promise<void> {
  await Promise.all(serversOf(redis).map(({ client }) => checkSettings(client, logger)))
}

interface SettingsLogger {
  warn(message: string): void
}

async function checkSettings(client: Redis, logger: SettingsLogger): Promise<void> {
  const info = await client.info('server', 'memory', 'persistence', 'cluster')
  const isCluster = /cluster_enabled:1/.test(info)
  const mode = isCluster ? 'cluster' : (/redis_mode:(\S+)/.exec(info)?.[1] ?? 'standalone')
  const isExpected = mode === 'standalone' || (mode === 'cluster' && client.isInCluster)
  if (!isExpected)
    throw new StartError(`this Redis server runs as a ${mode}: begin REDIS_URL with redis+${mode}://`)
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
