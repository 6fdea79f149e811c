import type { Config } from '../config.ts'
import { openConnections } from '../platform/connections.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { refuseOtherShards } from '../platform/redis/redis-epoch.ts'

export interface CommandClients {
  postgres: Postgres
  redis: Redis
}

/** Runs a command over clients that fail fast, and closes them. Throws if it is set to another number of shards. */
export async function withClients<T>(
  config: Config,
  name: string,
  run: (clients: CommandClients) => Promise<T>,
  statementTimeoutMs?: number,
): Promise<T> {
  const connections = openConnections(config)
  const limits = statementTimeoutMs === undefined ? {} : { statementTimeoutMs }
  try {
    const redis = connections.redis(name, 'fail-fast')
    await refuseOtherShards(redis)
    return await run({ postgres: connections.postgres(name, { poolSize: 2, ...limits }), redis })
  } finally {
    await connections.close()
  }
}
