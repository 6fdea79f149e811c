import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../../core/kernel/errors.ts'
import type { Logger } from '../observability/logger.ts'
import { pollEvery } from '../process/poll-every.ts'
import { defineScript, type Redis } from './redis.ts'
import { epochKey, type Sharded, shardNumbers, shardSubject } from './redis-keys.ts'

/** The generation of a shard's data. An emptied or replaced Redis starts a new one. */
export interface Epoch {
  /** Names the number of shards, if there are several. */
  id: string
  /** Its age by Redis's clock. */
  ageMs: number
  /** Of the server that has it: a promoted replica and a restarted server have another. */
  server: string
}

/** Reads the current epoch, or starts one if there is none. */
export type ReadEpoch = () => Promise<Epoch>

// Reads the epoch, or starts one. KEYS 1 epoch   ARGV 1 id of a new one   Returns {id, age ms, replication id}
const READ = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('GET', KEYS[1])
if not known then
  known = ARGV[1] .. ':' .. string.format('%.0f', now)
  redis.call('SET', KEYS[1], known)
end
local id, since = string.match(known, '^([^:]+):(%d+)$')
-- The clock of this server is behind that of the one before it: the age counts from now.
if tonumber(since) > now then
  since = now
  redis.call('SET', KEYS[1], id .. ':' .. string.format('%.0f', now))
end
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
return { id, now - since, server }`

/** Reads the epoch of a shard. Rejects with a StartError if Redis was set up with another number of shards. */
export function createEpochReader(redis: Redis, shard = 0): ReadEpoch {
  const read = defineScript(redis, 'syEpoch', READ)
  return async () => {
    const [id, ageMs, server] = (await read([epochKey(shard)], [newEpochId(redis)])) as [
      string,
      number,
      string,
    ]
    refuseEpochOfOthers(id, redis)
    return { id, ageMs, server }
  }
}

const newEpochId = ({ shards }: Sharded): string =>
  randomBytes(9).toString('base64url') + (shards === 1 ? '' : `.${shards}`)

function refuseEpochOfOthers(id: string, { shards }: Sharded): void {
  const known = Number(id.split('.')[1] ?? 1)
  if (known !== shards)
    throw new StartError(
      `REDIS_SHARDS is ${shards}, but this Redis was set up with ${known}: the number of shards is fixed`,
    )
}

/** For commands: throws if Redis was set up with another number of shards. A Redis that is away is written nothing. */
export async function refuseOtherShards(redis: Redis): Promise<void> {
  const epoch = await redis.get(epochKey(0)).catch(() => null)
  if (epoch !== null) refuseEpochOfOthers(epoch.split(':')[0]!, redis)
}

/**
 * Checks that Redis was set up with this number of shards, and that each server has the data of its own shards. Throws
 * otherwise. Waits for every server.
 */
export async function checkShards(redis: Redis): Promise<void> {
  if (redis.shards === 1) return void (await createEpochReader(redis)())
  for (const shard of shardNumbers(redis)) {
    const others = shardNumbers(redis).filter((other) => redis.shard(other) !== redis.shard(shard))
    if (
      !redis.isInCluster &&
      others.length > 0 &&
      (await redis.shard(shard).exists(...others.map(epochKey))) > 0
    )
      throw new StartError(
        `the Redis server of shard ${shard} has the data of another shard: do not change the servers in REDIS_URL`,
      )
  }
  // Read only now: reading starts the epoch of a new installation.
  for (const shard of shardNumbers(redis)) await createEpochReader(redis, shard)()
}

/**
 * Waits until the epoch is old enough for workers to have resynced their holds. Before that, a balance from the ledger
 * would lack the holds of running calls and could be spent twice. Returns the epoch's id.
 */
export async function untilResynced(readEpoch: ReadEpoch, graceMs: number): Promise<string> {
  // Redis was emptied again during the wait: the wait restarts.
  for (;;) {
    const { id, ageMs } = await readEpoch()
    if (ageMs >= graceMs) return id
    await delay(graceMs - ageMs)
  }
}

export interface EpochWatchOptions {
  redis: Redis
  /** Absent: the first. */
  shard?: number
  readEpoch: ReadEpoch
  logger: Logger
  pollMs?: number
}

const POLL_MS = 500

/** What one process knows of the epoch. */
export type EpochWatch = Awaited<ReturnType<typeof watchEpoch>>

/** Reads the epoch and watches it. Waits for Redis. */
export async function watchEpoch(options: EpochWatchOptions) {
  const { redis, shard = 0, readEpoch, logger } = options
  const emptied: Array<() => void> = []
  const reconnected: Array<() => void> = []
  let { id: current, server } = await readEpoch()
  let connections = 0
  const check = async () => {
    const epoch = await readEpoch()
    const isReplaced = epoch.server !== server
    server = epoch.server
    if (epoch.id !== current) {
      const about = { ...shardSubject(shard, redis), before: current, now: epoch.id }
      logger.error({ alarm: 'redis-emptied', ...about }, 'redis lost its data')
      current = epoch.id
      for (const listener of emptied) listener()
    }
    // A promoted replica may lack the last writes, whether or not this connection was interrupted.
    if (isReplaced) for (const listener of reconnected) listener()
    return current
  }
  const onReady = () => {
    connections += 1
    const before = server
    check().then(
      () => {
        if (server === before) for (const listener of reconnected) listener()
      },
      (error: unknown) => logger.warn({ err: error }, 'redis epoch read failed'),
    )
  }
  redis.on('ready', onReady)
  const stopPolling = pollEvery(
    options.pollMs ?? POLL_MS,
    async () => void (await check()),
    (error) => logger.warn({ err: error }, 'redis epoch poll failed'),
  )
  return {
    current: () => current,
    /** Reads the epoch now. When it resolves, listeners have been called for a new one. Rejects when Redis is away. */
    check,
    /**
     * Changes with the epoch, with the server and with each reconnect: while it stays the same, no write of this process
     * can have been lost. Reads the epoch from Redis.
     */
    durabilityToken: async () => `${await check()}/${server}/${connections}`,
    /** The same as last known, without asking Redis. */
    lastToken: () => `${current}/${server}/${connections}`,
    /** Registers a listener for lost data: this process must repeat its writes. Must not throw. */
    onEmptied: (listener: () => void) => void emptied.push(listener),
    /** Registers a listener for a reconnect or another server: the last writes may be lost. Must not throw. */
    onReconnected: (listener: () => void) => void reconnected.push(listener),
    stop() {
      stopPolling()
      redis.off('ready', onReady)
    },
  }
}
