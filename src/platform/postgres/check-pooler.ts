import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { StartError } from '../../core/kernel/errors.ts'

/** The part of a PostgreSQL connection that the check needs. */
export interface CheckedConnection {
  connect(): Promise<unknown>
  query(statement: { name: string; text: string }): Promise<unknown>
  end(): Promise<unknown>
}

const ANSWER_WITHIN_MS = 3_000
/** SQLSTATE: the prepared statement exists already, or does not exist. */
const STATEMENT_ERRORS = new Set(['42P05', '26000'])

/** SQLSTATE and message of PgBouncer for a parameter that it neither knows nor ignores. */
const REFUSED_PARAMETER = { code: '08P01', message: /unsupported startup parameter/ }

/**
 * Throws StartError when the address leads to a pooler that cannot work. One that rejects the timeouts of a connection
 * rejects every connection. Where named statements do not belong to their connection, because the pooler shares one server
 * connection between clients, they fail under load, in about one call of a hundred: two connections prepare different
 * statements with the same name; only a pooler that mixes connections rejects that. Other failures are ignored: an
 * unreachable database does not prevent a start.
 */
export async function checkPooler(
  databaseUrl: string,
  open: (databaseUrl: string) => CheckedConnection = openConnection,
): Promise<void> {
  const name = `shuntyard_check_${randomBytes(8).toString('hex')}`
  const connections = [open(databaseUrl), open(databaseUrl)]
  const [first, second] = connections as [CheckedConnection, CheckedConnection]
  try {
    await Promise.all([first.connect(), second.connect()])
    await first.query({ name, text: 'SELECT 1' })
    await second.query({ name, text: 'SELECT 2' })
    await first.query({ name, text: 'SELECT 1' })
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === REFUSED_PARAMETER.code && REFUSED_PARAMETER.message.test(message)) {
      throw new StartError(
        'DATABASE_URL leads to a pooler that rejects timeouts: set ignore_startup_parameters of PgBouncer to ' +
          'statement_timeout,lock_timeout',
      )
    }
    if (code !== undefined && STATEMENT_ERRORS.has(code)) {
      throw new StartError(
        'DATABASE_URL leads to a pooler that breaks named statements: use one in session mode, or PgBouncer 1.21 or ' +
          'newer with max_prepared_statements',
      )
    }
  } finally {
    // Rejects for a connection that was never established.
    await Promise.allSettled(connections.map((connection) => connection.end()))
  }
}

function openConnection(databaseUrl: string): CheckedConnection {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'shuntyard-check',
    connectionTimeoutMillis: ANSWER_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
    // As the pools send them.
    statement_timeout: ANSWER_WITHIN_MS,
    lock_timeout: ANSWER_WITHIN_MS,
  })
  // A broken connection fails the query as well, which is handled there.
  client.on('error', () => undefined)
  return client
}
