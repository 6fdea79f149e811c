import type { Postgres } from '../../platform/postgres/postgres.ts'
import { REST_MS } from './open-month.ts'

const ROWS_AT_ONCE = 20_000

/** The first partition, and the month of its oldest row; ids before 2020 do not exist. */
const STATE = `
SELECT to_char(until.month, 'YYYY-MM-DD') AS "until",
       extract(epoch FROM (until.month + interval '1 month') AT TIME ZONE 'UTC') * 1000 AS "endsAt"
FROM (
  SELECT to_date(right(child.relname, 7), 'YYYY_MM') AS month
  FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
  WHERE inhparent = 'call_records'::regclass AND child.relname LIKE 'call\\_records\\_until\\_%'
) AS until`

const oldestMonth = (until: string) => `
SELECT to_char(coalesce(min(month), $1::date), 'YYYY-MM-DD') AS "first"
FROM generate_series(date '2020-01-01', $1::date, interval '1 month') AS month
WHERE EXISTS (SELECT FROM call_records_${until} WHERE id < month_bound('chatcmpl_', (month + interval '1 month')::date))
   OR EXISTS (SELECT FROM ledger_transactions_${until} WHERE id < month_bound('chatcmpl_', (month + interval '1 month')::date))
   OR EXISTS (SELECT FROM operator_actions_${until} WHERE id < month_bound('act_', (month + interval '1 month')::date))`

interface SplitTable {
  source: string
  target: string
  key: string
  /** The first id of its month, and of the next one. */
  from: string
  to: string
}

const KEYS: Record<string, readonly string[]> = {
  ledger_transactions: ['id', 'kind'],
  ledger_entries: ['transaction_id', 'kind', 'ledger_account'],
  ledger_notes: ['id', 'kind'],
}

/**
 * Splits the first partition, which has all that was there before partitions and its own month, into one for each month.
 * Rows are copied some at a time, each time in a transaction of its own; then the tables of the months take its place at
 * once. A run that stopped continues where it was. Until it is done the rows do not change, and the disk holds them twice.
 * Returns the months; none if it was split before. Throws an Error while the last of its months has not rested.
 */
export async function splitFirstPartition(
  { postgres, clock }: { postgres: Postgres; clock: () => number },
  rowsAtOnce = ROWS_AT_ONCE,
): Promise<string[]> {
  const [state] = await postgres.plain.query<{ until: string; endsAt: string }>(STATE, [])
  if (!state) return []
  const { until } = state
  const restsUntil = Number(state.endsAt) + REST_MS
  if (clock() < restsUntil)
    throw new Error(
      `the first partition can be split from ${new Date(restsUntil).toISOString().slice(0, 10)} on`,
    )
  await postgres.plain.query('SELECT freeze_month($1::date)', [until])
  const name = `until_${until.slice(0, 7).replace('-', '_')}`
  const [{ first } = { first: until }] = await postgres.plain.query<{ first: string }>(oldestMonth(name), [
    until,
  ])
  const tables = await postgres.plain.query<SplitTable>(
    'SELECT * FROM create_split_tables($1::date, $2::date)',
    [first, until],
  )
  for (const table of tables) await copyRows(postgres, table, rowsAtOnce)
  await compareCounts(postgres, tables)
  await postgres.plain.query('SELECT finish_split($1::date, $2::date)', [first, until])
  return [...new Set(tables.map(({ target }) => target.slice(-7).replace('_', '-')))]
}

/** Copies the rows of a month, in the order of their key, from the last one on that the table has. */
async function copyRows(
  postgres: Postgres,
  { source, target, key, from, to }: SplitTable,
  rowsAtOnce: number,
): Promise<void> {
  const columns = KEYS[target.slice(0, -'_YYYY_MM'.length)] ?? [key]
  const list = columns.join(', ')
  const copyAfter = (condition: string) => `
    WITH copied AS (
      INSERT INTO ${target} SELECT * FROM ${source} WHERE ${key} < $1 AND ${condition} ORDER BY ${list} LIMIT $2::integer
      RETURNING 1
    ) SELECT count(*)::integer AS rows FROM copied`
  const last = `SELECT ${columns.map((name) => `${name}::text`).join(', ')} FROM ${target} ORDER BY ${columns.map((name) => `${target}.${name} DESC`).join(', ')} LIMIT 1`
  const after = columns.map((name, index) => `$${index + 3}${name === 'kind' ? '::text::ledger_kind' : ''}`)
  for (let rows = rowsAtOnce; rows === rowsAtOnce; ) {
    const [end] = await postgres.plain.query<Record<string, string>>(last, [])
    const [copied] = await postgres.plain.query<{ rows: number }>(
      copyAfter(end ? `(${list}) > (${after.join(', ')})` : `${key} >= $3`),
      [to, rowsAtOnce, ...(end ? columns.map((name) => end[name]) : [from])],
    )
    rows = copied?.rows ?? 0
  }
}

async function compareCounts(postgres: Postgres, tables: readonly SplitTable[]): Promise<void> {
  const count = async (table: string): Promise<bigint> => {
    const [row] = await postgres.plain.query<{ rows: string }>(
      `SELECT count(*)::text AS rows FROM ${table}`,
      [],
    )
    return BigInt(row?.rows ?? 0)
  }
  for (const [source, targets] of Map.groupBy(tables, (table) => table.source)) {
    let copied = 0n
    for (const { target } of targets) copied += await count(target)
    const rows = await count(source)
    if (copied !== rows) throw new Error(`${source} has ${rows} rows, the tables of its months ${copied}`)
  }
}
