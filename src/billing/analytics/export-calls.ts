import type { ClickHouse } from '../../platform/clickhouse.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { CANONICAL_MODEL } from '../reports/usage-series-store.ts'
import {
  CALLS_TABLE,
  createAnalyticsTables,
  type ExportPosition,
  readPosition,
  writePosition,
} from './analytics-tables.ts'

/** Calls of one request: about 2 MB. */
const PAGE = 5_000

const COLUMNS = `c.id, c.account_id, c.key_id, coalesce(made.created_by, '') AS made_by, c.status::text AS status,
  coalesce(c.error_code, '') AS error_code, c.requested_model, ${CANONICAL_MODEL} AS model,
  coalesce(c.served_model_id, '') AS served_model_id, coalesce(c.served_offer_id, '') AS served_offer_id,
  c.is_byok::integer AS is_byok, c.prompt_tokens, c.completion_tokens, c.charge_pico::text AS charge_pico,
  c.admitted_at_ms::text AS admitted_at_ms, c.first_token_at_ms::text AS first_token_at_ms,
  c.finished_at_ms::text AS finished_at_ms, c.settled_at_ms::text AS settled_at_ms,
  coalesce(c.written_xact, 0)::text AS written_xact`
const FROM = 'FROM call_records AS c LEFT JOIN api_keys AS made ON made.id = c.key_id'

/** Calls from before transactions were recorded, after one of them. */
const OLD = `SELECT ${COLUMNS} ${FROM} WHERE c.written_xact IS NULL AND c.id > $1 ORDER BY c.id LIMIT ${PAGE}`

/** Calls after a position, of transactions that have all ended. */
const WRITTEN = `SELECT ${COLUMNS} ${FROM}
WHERE c.written_xact >= $1::bigint AND (c.written_xact, c.id) > ($1::bigint, $2) AND c.written_xact < $3::bigint
ORDER BY c.written_xact, c.id LIMIT ${PAGE}`

const HORIZON = 'SELECT written_xact_horizon()::text AS horizon'

type CallRow = { id: string; written_xact: string }

/**
 * Copies settled calls to ClickHouse, from where its position says to the newest. PostgreSQL's own rows are the outbox:
 * they carry the transaction that wrote them, and those below the horizon are complete, however late a settlement committed.
 * The position is in ClickHouse, written after the calls. So a call is there at least once, and ClickHouse keeps one of equal
 * ones; a server that lost its data is filled again. Returns how many calls were copied.
 */
export async function exportCalls(
  { postgres, clickHouse, clock }: { postgres: Postgres; clickHouse: ClickHouse; clock: () => number },
  stopping: AbortSignal,
): Promise<number> {
  await createAnalyticsTables(clickHouse)
  let position = await readPosition(clickHouse)
  let copied = 0
  const moveTo = async (next: Omit<ExportPosition, 'step'>) => {
    position = { ...next, step: position.step + 1 }
    await writePosition(clickHouse, position)
  }
  while (!stopping.aborted) {
    const atMs = clock()
    // Its own statement, before the rows are read: all that is below it is then seen.
    const [row] = await postgres.$queryRawUnsafe<Array<{ horizon: string }>>(HORIZON)
    if (!row) throw new Error('PostgreSQL returned no horizon')
    const { writtenXact, callId, completeAtMs } = position
    const isOld = writtenXact === '0'
    const calls = isOld
      ? await postgres.plain.query<CallRow>(OLD, [callId])
      : await postgres.plain.query<CallRow>(WRITTEN, [writtenXact, callId, row.horizon])
    const last = calls.at(-1)
    if (last) await clickHouse.insert(CALLS_TABLE, calls)
    copied += calls.length
    const isDone = calls.length < PAGE
    // After the last of the old calls come those of the first transaction.
    const next = isOld && isDone ? { writtenXact: '1', callId: '' } : positionOf(last, position)
    await moveTo({ ...next, completeAtMs: isDone && !isOld ? atMs : completeAtMs })
    if (isDone && !isOld) break
  }
  return copied
}

const positionOf = (last: CallRow | undefined, { writtenXact, callId }: ExportPosition) =>
  last ? { writtenXact: last.written_xact, callId: last.id } : { writtenXact, callId }
