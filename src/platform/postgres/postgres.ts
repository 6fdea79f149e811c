import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { Client, type ClientConfig, DatabaseError, Pool } from 'pg'
import type { Logger } from 'pino'
import { Prisma, PrismaClient } from '../prisma-client/client.ts'

/** A pooled client of the gateway's database. The owner ends it with `$disconnect()`. */
export type Postgres = PrismaClient & { plain: PlainStatements }

/** For large values: the other client writes them down three times, and keeps those of its last hundred statements. */
interface PlainStatements {
  /** Runs one statement. 64-bit integers come as text; `bytea` values are Buffers, and come as text twice as long. */
  query<Row extends object>(text: string, values: unknown[]): Promise<Row[]>
}

/** A client inside one transaction; also what a statement that does not care is given. */
export type PostgresTransaction = Prisma.TransactionClient

/** Rows that are listed by their ids, newest first: those after an id, or the first ones. */
export interface IdPage {
  after: string | null
  limit: number
}

/** Finds such rows, of those that `where` names. */
export const newestFirst = <Where extends object>({ after, limit }: IdPage, where: Where) => ({
  where: { ...where, ...(after !== null && { id: { lt: after } }) },
  orderBy: { id: 'desc' } as const,
  take: limit,
})

export interface PostgresOptions {
  databaseUrl: string
  /** Shown in pg_stat_activity. */
  name: string
  /** Connections of this process at most. */
  poolSize?: number
  /** A statement running longer is cancelled by the server. 0: no limit, for the auditor. */
  statementTimeoutMs?: number
  /** A statement that waits longer for a lock is cancelled by the server. Absent: as long as the statement may run. */
  lockTimeoutMs?: number
  /** Waiting longer for a connection fails the query. */
  connectTimeoutMs?: number
  logger?: Logger
}

/** Opens a pool. Nothing connects until the first query, so a database that is away does not stop a start. */
export function createPostgres(options: PostgresOptions): Postgres {
  const pool = openPool(options)
  const adapter = new PrismaPg(pool, {
    disposeExternalPool: true,
    // A fixed text is parsed and planned once a connection.
    statementNameGenerator: ({ sql }) => statementName(sql),
    onConnectionError: (error) => options.logger?.debug({ err: error }, 'a postgres connection broke'),
  })
  // A transaction waits for its connection as long as a statement does.
  const maxWait = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const client = new PrismaClient({ adapter, transactionOptions: { maxWait, timeout: 15_000 } })
  const disconnect = client.$disconnect.bind(client)
  return Object.assign(client, {
    plain: plainStatements(pool),
    async $disconnect() {
      await disconnect()
      // Prisma ends no pool that only plain statements have used.
      if (!pool.ending) await pool.end()
    },
  })
}

function openPool(options: PostgresOptions): Pool {
  const { statementTimeoutMs = 10_000 } = options
  const pool = new Pool({
    Client: BoundedClient,
    connectionString: options.databaseUrl,
    application_name: options.name,
    max: options.poolSize ?? 4,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
    ...(statementTimeoutMs > 0 && {
      statement_timeout: statementTimeoutMs,
      query_timeout: statementTimeoutMs + ANSWER_SLACK_MS,
    }),
  })
  pool.on('error', (error) => options.logger?.warn({ err: error }, 'an idle postgres connection broke'))
  return pool
}

const plainStatements = (pool: Pool): PlainStatements => ({
  async query<Row extends object>(text: string, values: unknown[]) {
    return (await pool.query<Row>({ name: statementName(text), text, values })).rows
  },
})

const CONNECT_TIMEOUT_MS = 5_000

const statementNames = new Map<string, string>()
const STATEMENT_NAMES_MAX = 1_000

function statementName(sql: string): string {
  const known = statementNames.get(sql)
  if (known !== undefined) return known
  const name = createHash('sha256').update(sql).digest('base64url').slice(0, 32)
  if (statementNames.size < STATEMENT_NAMES_MAX) statementNames.set(sql, name)
  return name
}

/**
 * Whether the database refused the data itself (SQLSTATE class 22, data exception, or 23, integrity
 * constraint violation): the same statement would be refused again. Everything else (away, busy, deadlock,
 * not migrated yet) may pass later.
 */
export function isRefusedData(error: unknown): boolean {
  const state = sqlStateOf(error)
  return state !== null && (state.startsWith('22') || state.startsWith('23'))
}

/**
 * Whether the server gave a statement up because of a lock that somebody else kept (55P03, `lock_timeout`), or because it
 * ran too long (57014, `statement_timeout`); null for everything else. With less work at once it may pass.
 */
export function slownessOf(error: unknown): 'locked' | 'slow' | null {
  const state = sqlStateOf(error)
  if (state === '55P03') return 'locked'
  return state === '57014' ? 'slow' : null
}

/** How pg reports a connection that was not made, broke, or was given up: errors without a code. */
const CONNECTION_FAILURE =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/

/** Whether a statement failed because of the database and not of its data: not reachable, too slow, busy, read-only. */
export function isPostgresFailure(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientKnownRequestError || error instanceof DatabaseError)
    return !isRefusedData(error)
  return (
    error instanceof Prisma.PrismaClientUnknownRequestError ||
    error instanceof Prisma.PrismaClientInitializationError ||
    (error instanceof Error && CONNECTION_FAILURE.test(error.message))
  )
}

/** Whether a unique constraint refused a row. */
export const isDuplicate = (error: unknown): boolean => sqlStateOf(error) === '23505'

/** The SQLSTATE of a failed statement, or null when the database was not reached or said nothing. */
export function sqlStateOf(error: unknown): string | null {
  if (error instanceof DatabaseError) return error.code ?? null
  const state = driverCause(error)?.originalCode
  return typeof state === 'string' ? state : null
}

/** What the database itself said, for logs and quarantine reasons; falls back to the error's own message. */
export function databaseMessage(error: unknown): string {
  const message = driverCause(error)?.originalMessage
  if (typeof message === 'string') return message
  return error instanceof Error ? error.message : String(error)
}

function driverCause(error: unknown): { originalCode?: unknown; originalMessage?: unknown } | undefined {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return undefined
  const meta = error.meta as { driverAdapterError?: { cause?: Record<string, unknown> } } | undefined
  return meta?.driverAdapterError?.cause
}

/** Beyond the statement timeout, which the server keeps: it may be gone without a word, and its timeout with it. */
const ANSWER_SLACK_MS = 1_000

/** What pg says when `query_timeout` is over. */
const OVERDUE = 'Query read timeout'

/**
 * A connection that is given up once a statement was not answered in time. pg would use it further, and everything
 * that is sent over it later, a rollback too, would wait behind that statement.
 */
class BoundedClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    this.query = ((...args: unknown[]) => {
      const answer = query(...args)
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#giveUpOn(error))
      return answer
    }) as typeof this.query
  }

  #giveUpOn(error: unknown): void {
    if (!(error instanceof Error) || error.message !== OVERDUE) return
    const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }
}

/** Connections for plain statements alone. */
export interface PostgresPool extends PlainStatements {
  close(): Promise<void>
}

/** Opens a pool. Nothing connects until the first query. */
export function createPostgresPool(options: PostgresOptions): PostgresPool {
  const pool = openPool(options)
  return { ...plainStatements(pool), close: () => pool.end() }
}
