import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { StartError } from '../../core/kernel/start-error.ts'

/** The part of a PostgreSQL connection that the check uses. */
export interface CheckedConnection {
  connect(): Promise<unknown>
  query(statement: { name: string; text: string }): Promise<unknown>
  end(): Promise<unknown>
}

const ANSWER_WITHIN_MS = 3_000
/** SQLSTATE: a statement of that name exists already; there is none of that name. */
const STATEMENT_ERRORS = new Set(['42P05', '26000'])

/**
 * Throws StartError when named statements do not belong to their connection, as behind a pooler that gives one server
 * connection to several clients: such statements fail under load, one call in a hundred. Two connections prepare
 * different statements of one name; only a pooler that mixes them up objects. Nothing else is judged here: a database
 * that is away keeps no process from starting.
 */
export async function checkNamedStatements(
  databaseUrl: string,
  open: (databaseUrl: string) => CheckedConnection = openConnection,
): Promise<void> {
  const name = `switchyard_check_${randomBytes(8).toString('hex')}`
  const connections = [open(databaseUrl), open(databaseUrl)]
  const [first, second] = connections as [CheckedConnection, CheckedConnection]
  try {
    await Promise.all([first.connect(), second.connect()])
    await first.query({ name, text: 'SELECT 1' })
    await second.query({ name, text: 'SELECT 2' })
    await first.query({ name, text: 'SELECT 1' })
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== undefined && STATEMENT_ERRORS.has(code)) {
      throw new StartError(
        'DATABASE_URL leads to a pooler that breaks named statements: use one in session mode, or PgBouncer 1.21 or ' +
          'newer with max_prepared_statements',
      )
    }
  } finally {
    // A connection that never was one rejects here.
    await Promise.allSettled(connections.map((connection) => connection.end()))
  }
}

function openConnection(databaseUrl: string): CheckedConnection {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'switchyard-check',
    connectionTimeoutMillis: ANSWER_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  })
  // What breaks the connection breaks the query as well, and that is looked at.
  client.on('error', () => undefined)
  return client
}
