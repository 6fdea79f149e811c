import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { PrismaPg } from '@prisma/adapter-pg'
import { Client, type ClientConfig, DatabaseError, Pool } from 'pg'
import type { Logger } from 'pino'
import { Prisma, PrismaClient } from '../prisma-client/client.ts'

/** A pooled client of the gateway's database. The owner closes it with `$disconnect()`. */
export type Postgres = PrismaClient & { plain: PlainStatements }

/** Statements with large values. Prisma copies such values three times and keeps those of its last hundred statements. */
interface PlainStatements {
  /**
   * Runs one statement. 64-bit integers are returned as text. `bytea` values are Buffers and take twice as many bytes
   * as text.
   */
  query<Row extends object>(text: string, values: unknown[]): Promise<Row[]>
}

/** A client inside one transaction, or any client where the statement needs no transaction. */
export type PostgresTransaction = Prisma.TransactionClient

/** A page of rows by id, newest first: the rows after an id, or the first rows. */
export interface IdPage {
  after: string | null
  limit: number
}

/** Query arguments for such a page of the rows that match `where`. */
export const newestFirst = <Where extends object>({ after, limit }: IdPage, where: Where) => ({
  where: { ...where, ...(after !== null && { id: { lt: after } }) },
  orderBy: { id: 'desc' } as const,
  take: limit,
})

export interface PostgresOptions {
  databaseUrl: string
  /** Shown in pg_stat_activity. */
  name: string
  /** Maximum number of connections of this process. */
  poolSize?: number
  /** The server cancels a statement that runs longer. 0: no limit, for the auditor. */
  statementTimeoutMs?: number
  /**
   * The server cancels a statement that waits longer for a lock; behind a pooler only a plain one. Absent: the statement
   * timeout.
   */
  lockTimeoutMs?: number
  /** A query fails after waiting this long for a connection. */
  connectTimeoutMs?: number
  logger?: Logger
}

/** Opens a pool. It connects with the first query, so an unreachable database does not prevent a start. */
export function createPostgres(options: PostgresOptions): Postgres {
  const pool = openPool(options)
  const adapter = new PrismaPg(pool, {
    disposeExternalPool: true,
    // A constant text is parsed and planned once per connection.
    statementNameGenerator: ({ sql }) => statementName(sql),
    onConnectionError: (error) => options.logger?.debug({ err: error }, 'postgres connection broken'),
  })
  // A transaction waits for its connection as long as a statement does.
  const maxWait = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const client = new PrismaClient({ adapter, transactionOptions: { maxWait, timeout: 15_000 } })
  const disconnect = client.$disconnect.bind(client)
  return Object.assign(client, {
    plain: plainStatements(pool, options.lockTimeoutMs),
    async $disconnect() {
      await disconnect()
      // Prisma does not end a pool that only plain statements have used.
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
  pool.on('error', (error) => options.logger?.warn({ err: error }, 'idle postgres connection broken'))
  return pool
}

/**
 * With a lock timeout each statement has a transaction: a pooler ignores the timeout of the connection, and shares its
 * connections, so that only settings of a transaction can be trusted.
 */
const plainStatements = (pool: Pool, lockTimeoutMs?: number): PlainStatements => ({
  async query<Row extends object>(text: string, values: unknown[]) {
    const statement = { name: statementName(text), text, values }
    if (lockTimeoutMs === undefined) return (await pool.query<Row>(statement)).rows
    const client = await pool.connect()
    // A connection that ends between statements fails the next one. Without a listener, its event would end the process.
    const ignore = () => undefined
    client.on('error', ignore)
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`)
      const { rows } = await client.query<Row>(statement)
      await client.query('COMMIT')
      client.release()
      return rows
    } catch (error) {
      const isClean = await client.query('ROLLBACK').then(
        () => true,
        () => false,
      )
      client.release(!isClean)
      throw error
    } finally {
      client.off('error', ignore)
    }
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
 * Whether the database rejected the data (SQLSTATE class 22, data exception, or 23, integrity constraint violation), so
 * that a retry would fail again. Every other failure (unreachable, busy, deadlock, not migrated yet) may be temporary.
 */
export function isRefusedData(error: unknown): boolean {
  const state = sqlStateOf(error)
  return state !== null && (state.startsWith('22') || state.startsWith('23'))
}

/**
 * Whether the server cancelled a statement because of a lock held by another session (55P03, `lock_timeout`) or because
 * it ran too long (57014, `statement_timeout`); null for other failures. A smaller batch may succeed.
 */
export function slownessOf(error: unknown): 'locked' | 'slow' | null {
  const state = sqlStateOf(error)
  if (state === '55P03') return 'locked'
  return state === '57014' ? 'slow' : null
}

/** The messages of pg for a connection that was not made, broke or timed out; these errors have no code. */
const CONNECTION_FAILURE =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/

/** Whether a statement failed because of the database and not its data: unreachable, too slow, busy, read-only. */
export function isPostgresFailure(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientKnownRequestError || error instanceof DatabaseError)
    return !isRefusedData(error)
  return (
    error instanceof Prisma.PrismaClientUnknownRequestError ||
    error instanceof Prisma.PrismaClientInitializationError ||
    (error instanceof Error && CONNECTION_FAILURE.test(error.message))
  )
}

/** Whether a unique constraint rejected a row. */
export const isDuplicate = (error: unknown): boolean => sqlStateOf(error) === '23505'

/** The SQLSTATE of a failed statement, or null if the database was not reached or sent none. */
export function sqlStateOf(error: unknown): string | null {
  if (error instanceof DatabaseError) return error.code ?? null
  const state = driverCause(error)?.originalCode
  return typeof state === 'string' ? state : null
}

/** The message of the database, for logs and quarantine reasons; otherwise the error's own message. */
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

/** Margin beyond the statement timeout, which the server enforces. An unreachable server enforces nothing. */
const ANSWER_SLACK_MS = 1_000
/** Before the end of that margin: a statement that still runs is cancelled, because a pooler ignored its timeout. */
const CANCEL_SLACK_MS = 600

/** The message of pg when `query_timeout` expires. */
const OVERDUE = 'Query read timeout'

/** What pg sends to cancel a statement: length, code, and what names the server process of the connection. */
function cancelRequest(processId: number, secretKey: number): Buffer {
  const request = Buffer.alloc(16)
  request.writeInt32BE(16, 0)
  request.writeInt32BE(80_877_102, 4)
  request.writeInt32BE(processId, 8)
  request.writeInt32BE(secretKey, 12)
  return request
}

/**
 * A connection that cancels a statement that runs too long, as the server itself does unless a pooler in between ignores
 * `statement_timeout`. It is closed when a statement gets no response at all: pg would keep using it, and every later
 * statement, including a rollback, would wait behind the first.
 */
class BoundedClient extends Client {
  readonly #queryTimeoutMs: number

  constructor(config?: string | ClientConfig) {
    super(config)
    this.#queryTimeoutMs = (typeof config === 'object' && config.query_timeout) || 0
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    this.query = ((...args: unknown[]) => {
      const stopWaiting = this.#cancelLater()
      const callback = args.at(-1)
      if (typeof callback === 'function') {
        args[args.length - 1] = (...answer: unknown[]) => {
          stopWaiting()
          callback(...answer)
        }
        return query(...args)
      }
      const answer = query(...args)
      if (answer instanceof Promise)
        answer.then(stopWaiting, (error: unknown) => {
          stopWaiting()
          this.#giveUpOn(error)
        })
      return answer
    }) as typeof this.query
  }

  #cancelLater(): () => void {
    if (this.#queryTimeoutMs === 0) return () => undefined
    const timer = setTimeout(() => this.#cancel(), this.#queryTimeoutMs - CANCEL_SLACK_MS)
    return () => clearTimeout(timer)
  }

  /** Over a connection of its own, as the protocol wants it. An unreachable server needs no cancellation. */
  #cancel(): void {
    const { processID, secretKey } = this as unknown as { processID: number | null; secretKey: number | null }
    if (processID === null || secretKey === null) return
    const socket = this.host.startsWith('/')
      ? connect(`${this.host}/.s.PGSQL.${this.port}`)
      : connect(this.port, this.host)
    socket.setTimeout(ANSWER_SLACK_MS, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.end(cancelRequest(processID, secretKey))
  }

  #giveUpOn(error: unknown): void {
    if (!(error instanceof Error) || error.message !== OVERDUE) return
    const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }
}

export interface PostgresPool extends PlainStatements {
  close(): Promise<void>
}

/** Opens a pool. It connects with the first query. */
export function createPostgresPool(options: PostgresOptions): PostgresPool {
  const pool = openPool(options)
  return { ...plainStatements(pool, options.lockTimeoutMs), close: () => pool.end() }
}
