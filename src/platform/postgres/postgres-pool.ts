import { Pool } from 'pg'
import type { Logger } from 'pino'
import type { PostgresOptions } from './postgres.ts'
import { ANSWER_SLACK_MS } from './postgres-client.ts'

/** Plain connections, for values that are too large to go through the query compiler of the other client. */
export type PostgresPool = ReturnType<typeof createPostgresPool>

/** Opens a pool. Nothing connects until the first query. */
export function createPostgresPool(
  options: PostgresOptions & { poolSize: number; statementTimeoutMs: number; connectTimeoutMs: number },
) {
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: options.name,
    max: options.poolSize,
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + ANSWER_SLACK_MS,
  })
  pool.on('error', (error) => warn(options.logger, error))
  return {
    /** Runs one statement. `bytea` values are Buffers; they go as they are, and come as text twice as long. */
    async query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
      return (await pool.query<Row>(text, values)).rows
    },
    close: (): Promise<void> => pool.end(),
  }
}

const warn = (logger: Logger | undefined, error: Error) =>
  logger?.warn({ err: error }, 'an idle postgres connection broke')
