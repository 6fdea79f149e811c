import type { Config } from '../config.ts'
import { createPostgres, type Postgres } from '../platform/postgres/postgres.ts'
import { createRedis, type Redis } from '../platform/redis/redis.ts'

/** The clients of one command; Redis connects only if it is asked for. */
export interface CommandClients {
  postgres: Postgres
  redis(): Redis
  close(): Promise<void>
}

/** Opens a command's clients. They fail fast: an operator waits in front of them. */
export function openClients(config: Config, name: string, statementTimeoutMs?: number): CommandClients {
  const postgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name,
    poolSize: 2,
    ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
  })
  let redis: Redis | undefined
  return {
    postgres,
    redis() {
      redis ??= createRedis({ url: config.redisUrl, name, mode: 'fail-fast' })
      return redis
    },
    async close() {
      redis?.disconnect()
      await postgres.$disconnect()
    },
  }
}
