import type { Config } from '../config.ts'
import { openConnections } from '../platform/connections.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Redis } from '../platform/redis/redis.ts'

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
  const connections = openConnections(config)
  const limits = statementTimeoutMs === undefined ? {} : { statementTimeoutMs }
  try {
    return await run({
      postgres: connections.postgres(name, { poolSize: 2, ...limits }),
      redis: connections.redis(name, 'fail-fast'),
    })
  } finally {
    await connections.close()
  }
}
