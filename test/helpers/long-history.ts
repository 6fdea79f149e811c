import { Client } from 'pg'
import { TOTALS_OF_HISTORY } from './totals.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** The id of a call at a time: its ten characters of time, and a number. */
const CALL_ID = `'chatcmpl_' || ${Array.from(
  { length: 10 },
  (_, at) => `substr('${ALPHABET}', (((at_ms >> ${5 * (9 - at)}) & 31) + 1)::integer, 1)`,
).join(' || ')} || lpad(n::text, 16, '0')`

interface LongHistory {
  calls: number
  /** Nine calls of ten are theirs. */
  busyAccountId: string
  /** Half of the rest are of the first, those of the others follow each other: statistics expect few calls of an account. */
  otherAccountIds: readonly string[]
  /** Keys of each account: `<account>_<number>`. */
  keys: number
  fromMs: number
  toMs: number
}

/** Fills a database with calls, of which each third is charged 50 pico-USD and has its ledger entries, and with their totals. */
export async function fillHistory(databaseUrl: string, history: LongHistory): Promise<void> {
  const { calls, busyAccountId, otherAccountIds, keys, fromMs, toMs } = history
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    // Without triggers: those of the ledger and the totals are for batches that fit in memory.
    await client.query(
      `SET session_replication_role = replica; SET synchronous_commit = off; SET work_mem = '256MB'`,
    )
    const indexes = await dropIndexes(client)
    await client.query(
      `INSERT INTO call_records (id, account_id, key_id, request_id, status, requested_model, stream, served_offer_id,
         served_model_id, prompt_rate_pico, completion_rate_pico, rate_version, prompt_cost_pico, completion_cost_pico,
         prompt_tokens, completion_tokens, usage_source, usage_clamped, hold_pico, charge_pico, attempts, admitted_at_ms,
         claimed_at_ms, first_token_at_ms, finished_at_ms, settled_at_ms)
       SELECT ${CALL_ID}, account, account || '_' || n % $5, 'request-' || n, 'completed', 'acme/large-' || n % 5, true,
         'acme/large-1', 'acme/large-1', 1, 2, 'v1', 1, 1, 10, CASE WHEN n % 3 = 0 THEN 20 ELSE 0 END, 'upstream', false, 100,
         CASE WHEN n % 3 = 0 THEN 50 ELSE 0 END,
         '[{"offerId": "acme/large-1", "outcome": "ok", "startedAt": 1, "durationMs": 9, "firstTokenMs": 5}]',
         at_ms, at_ms + 3, at_ms + 500, at_ms + 2000, at_ms + 2100
       FROM (
         SELECT n, $3::bigint + n * ($4::bigint - $3::bigint) / $1::bigint AS at_ms,
                CASE WHEN n % 10 > 0 THEN $2
                     ELSE ($6::text[])[CASE WHEN n % 20 = 0 THEN 1 ELSE 2 + n * (cardinality($6::text[]) - 1) / $1::bigint END]
                END AS account
         FROM generate_series(0::bigint, $1::bigint - 1) AS n
       ) AS call`,
      [calls, busyAccountId, fromMs, toMs, keys, otherAccountIds],
    )
    for (const definition of indexes) await client.query(definition)
    await client.query(`
      INSERT INTO ledger_transactions (id, kind, account_id) SELECT id, 'capture', account_id FROM call_records WHERE charge_pico > 0;
      INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
        SELECT id, 'capture'::ledger_kind, 'customer:' || account_id, -charge_pico FROM call_records WHERE charge_pico > 0
        UNION ALL SELECT id, 'capture', 'revenue', charge_pico FROM call_records WHERE charge_pico > 0`)
    await client.query('TRUNCATE spend_totals, usage_totals, ledger_totals')
    for (const [table, { columns, sql }] of Object.entries(TOTALS_OF_HISTORY))
      await client.query(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${sql}) AS history`)
    await client.query('VACUUM ANALYZE')
  } finally {
    await client.end()
  }
}

/** Drops the indexes of calls but the primary key, and returns the statements that create them again: faster than to grow them. */
async function dropIndexes(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
     WHERE schemaname = 'public' AND tablename = 'call_records' AND indexname <> 'call_records_pkey'`,
  )
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '))
}
