import type { Config } from '../config.ts'
import { createPostgres, type Postgres } from '../platform/postgres/postgres.ts'
import { createRedis, type Redis } from '../platform/redis/redis.ts'

export interface CommandClients {
  postgres: Postgres
  redis: Redis
}

/** Runs a command over clients that fail fast, and closes them. */
export async function withClients<T>(
  config: Config,
  name: string,
  run: (clients: CommandClients) => Promise<T>,
  statementTimeoutMs?: number,
): Promise<T> {
  const postgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name,
    poolSize: 2,
    ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
  })
  const redis = createRedis({ url: config.redisUrl, name, mode: 'fail-fast' })
  try {
    return await run({ postgres, redis })
  } finally {
    redis.disconnect()
    await postgres.$disconnect()
  }
}
