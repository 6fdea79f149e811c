import { Pool } from 'pg'
import type { Logger } from 'pino'
import type { PostgresOptions } from './postgres.ts'
import { ANSWER_SLACK_MS } from './postgres-client.ts'

/** Plain connections, for values that are too large to go through the query compiler of the other client. */
export interface PostgresPool {
  /** Runs one statement. `bytea` values are Buffers; they go as they are, and come as text twice as long. */
  query<Row extends object>(text: string, values: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

/** Opens a pool. Nothing connects until the first query. */
export function createPostgresPool(
  options: PostgresOptions & { poolSize: number; statementTimeoutMs: number; connectTimeoutMs: number },
): PostgresPool {
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
    async query<Row extends object>(text: string, values: unknown[]) {
      return (await pool.query<Row>(text, values)).rows
    },
    close: () => pool.end(),
  }
}

const warn = (logger: Logger | undefined, error: Error) =>
  logger?.warn({ err: error }, 'an idle postgres connection broke')
