import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** How many months have left the database. */
export const ARCHIVED_MONTHS = '(SELECT count(*) FROM archived_months WHERE archived_at IS NOT NULL)'

const POLL_MS = 100

const READ = `
SELECT server.system_identifier::text AS "server", point.system_identifier AS "known",
       (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint + written_xact_offset()) AS "nextXact",
       coalesce(greatest(
         ${['call_records', 'ledger_entries', 'settlement_conflicts', 'payments', 'invoices', 'call_payments']
           .map((table) => `(SELECT max(written_xact) FROM ${table})`)
           .join(', ')}), 0) AS "newestXact"
FROM audit_point AS point, pg_control_system() AS server`

interface Servers {
  /** The system identifier of this PostgreSQL server, and of the one that the point is from. */
  server: string
  known: string
  nextXact: bigint
  newestXact: bigint
}

const raiseTo = (offset: bigint) =>
  `CREATE OR REPLACE FUNCTION written_xact_offset() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT ${offset}::bigint'`
const HAS_ENDED = 'SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > $1::bigint AS ended'

const BEGIN_AGAIN = [
  'DELETE FROM audit_balances',
  'DELETE FROM audit_findings',
  `UPDATE audit_point SET
     system_identifier = (SELECT system_identifier::text FROM pg_control_system()),
     proven_xact = horizon.xact, proven_at = now(), seen_xact = 0, seen_at = now(), sums = '{}',
     is_established = false, account_after = '', recount = recount + 1, recount_xact = horizon.xact,
     recount_after = '', recount_figures = '{}', recount_archived = ${ARCHIVED_MONTHS}
   FROM (SELECT written_xact_horizon() AS xact) AS horizon`,
]

/**
 * Makes the next audit a full one where the point is from another PostgreSQL server: at the first audit, and after a dump was
 * restored or the server was upgraded. The restored rows may have higher ids of transactions than this server has reached;
 * then all later ones are raised above them. A physical copy keeps the identifier, and its point is as old as its rows.
 */
export async function adoptServer(postgres: Postgres): Promise<void> {
  const [state] = await postgres.$queryRawUnsafe<Servers[]>(READ)
  if (!state || state.server === state.known) return
  if (state.newestXact >= state.nextXact) await raiseOffset(postgres, state.newestXact)
  await postgres.$transaction(async (transaction) => {
    for (const statement of BEGIN_AGAIN) await transaction.$executeRawUnsafe(statement)
  })
}

/** Returns once no transaction is in progress that could still write lower ids. */
async function raiseOffset(postgres: Postgres, offset: bigint): Promise<void> {
  const raisedBy = await postgres.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe(raiseTo(offset))
    const [row] = await transaction.$queryRawUnsafe<Array<{ xact: bigint }>>(
      'SELECT pg_current_xact_id()::text::bigint AS xact',
    )
    return row!.xact
  })
  for (;;) {
    const [row] = await postgres.$queryRawUnsafe<Array<{ ended: boolean }>>(HAS_ENDED, raisedBy)
    if (row?.ended) return
    await delay(POLL_MS)
  }
}
