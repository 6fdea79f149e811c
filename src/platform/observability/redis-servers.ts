import type { Logger } from 'pino'
import { isRefusedWrite, type Redis, serversOf } from '../redis/redis.ts'
import { readinessKey, shardNumbers } from '../redis/redis-keys.ts'
import { createProbe } from './readiness.ts'

const WITHIN_MS = 2_500
const MARK_LIFETIME_MS = 60_000

/**
 * Returns a check that raises an alarm for each Redis server of some shards that does not respond or refuses writes. It
 * leaves out the first: alarms are stored there, and every process notices when it refuses writes.
 */
export function createServerCheck(options: {
  redis: Redis
  /** The process that checks. */
  processId: string
  logger: Logger
  /** Deadline after which a server counts as away. */
  withinMs?: number
}): () => Promise<void> {
  const { redis, processId, logger, withinMs = WITHIN_MS } = options
  const servers = serversOf(redis)
    .slice(1)
    .map(({ shard, client }) => ({
      subject: `shard ${shard}`,
      shards: shardNumbers(redis)
        .filter((other) => redis.shard(other) === client)
        .join(', '),
      probe: createProbe(withinMs, () =>
        client.set(readinessKey(processId, shard), '1', 'PX', MARK_LIFETIME_MS),
      ),
    }))
  return async () => {
    await Promise.all(
      servers.map(async ({ probe, ...about }) => {
        const failure = await probe()
        if (failure === null) return
        const details = { ...about, err: failure }
        if (isRefusedWrite(failure))
          logger.error(
            { alarm: 'redis-refuses-writes', ...details },
            'redis server of some shards refuses writes',
          )
        else logger.error({ alarm: 'redis-shards-away', ...details }, 'redis server of some shards is away')
      }),
    )
  }
}
