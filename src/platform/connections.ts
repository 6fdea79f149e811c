import type { Logger } from './observability/logger.ts'
import { createPostgres, type Postgres, type PostgresOptions } from './postgres/postgres.ts'
import { withTimeout } from './process/with-timeout.ts'
import { createRedis, type Redis, type RedisClientOptions } from './redis/redis.ts'

const CLOSE_MS = 2_000

/** Opens the named connections of one process and closes them together. */
export type Connections = ReturnType<typeof openConnections>

export function openConnections(
  { redisUrl, redisShards = 1, databaseUrl }: { redisUrl: string; redisShards?: number; databaseUrl: string },
  logger?: Logger,
) {
  const clients: Redis[] = []
  const pools: LazyPostgres[] = []
  const withLogger = logger && { logger }
  return {
    /** Without a shard: at the server of the first. */
    redis(name: string, mode: RedisClientOptions['mode'], shard = 0) {
      const client = createRedis({ url: redisUrl, shards: redisShards, shard, name, mode, ...withLogger })
      clients.push(client)
      return client
    },
    /** At the database of the process, unless the options name another. */
    postgres(name: string, options?: Partial<Omit<PostgresOptions, 'name' | 'logger'>>) {
      const pool = lazyPostgres(() => createPostgres({ databaseUrl, name, ...options, ...withLogger }))
      pools.push(pool)
      return pool.client
    },
    async close() {
      for (const client of clients.flatMap((each) => each.openedClients())) client.disconnect()
      // A statement without a timeout can keep its pool open indefinitely.
      await withTimeout(Promise.all(pools.map((pool) => pool.close())), CLOSE_MS, undefined)
    },
  }
}

interface LazyPostgres {
  client: Postgres
  close(): Promise<void>
}

/** Creates the client on first use: each client has its own 10 MB copy of the schema. */
function lazyPostgres(make: () => Postgres): LazyPostgres {
  let made: Postgres | null = null
  const handler: ProxyHandler<Postgres> = {
    get(_, property) {
      made ??= make()
      const value: unknown = Reflect.get(made, property)
      return typeof value === 'function' ? value.bind(made) : value
    },
  }
  return {
    client: new Proxy({} as Postgres, handler),
    close: async () => made?.$disconnect(),
  }
}
