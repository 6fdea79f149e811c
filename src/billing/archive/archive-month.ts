import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { type ArchivedRow, type WrittenFile, writeRows } from './archive-files.ts'
import { type ArchiveManifest, MANIFEST_FILE, newManifest, printManifest } from './archive-manifest.ts'
import { type ArchiveDependencies, refuseOpenMonth } from './open-month.ts'
import { type VerifiedArchive, verifyArchive } from './verify-archive.ts'

/** The tables whose rows of a month leave, with their keys. */
const TABLES = [
  { table: 'call_records', key: ['id'] },
  { table: 'ledger_transactions', key: ['id', 'kind'] },
  { table: 'ledger_entries', key: ['transaction_id', 'kind', 'ledger_account'] },
  { table: 'ledger_notes', key: ['id', 'kind'] },
  { table: 'operator_actions', key: ['id'] },
] as const

const NOTE_ENDING = '.written.json'
const ROWS_AT_ONCE = 5_000
/** Rows of one transaction that counts: some tenths of a second. */
const COUNTED_AT_ONCE = 50_000
/** Labels name people's apps and are deleted with their account; the other is the audit's, of this database. */
const LEFT_OUT = ['labels', 'written_xact']

export interface ArchivedFiles extends VerifiedArchive {
  folder: string
}

/**
 * Archives a month: closes it, counts its rows, exports them to `<folder>/<month>`, verifies the files, and then removes the
 * rows and carries their sums forward, in one transaction, whose length depends on the accounts and not on the calls. A run
 * that stopped halfway changes no sum, and the next one resumes it. Throws an Error that says why a month cannot be archived
 * (yet), and the signal's reason once it is aborted.
 * @param month `2026-03`
 */
export async function archiveMonth(
  deps: ArchiveDependencies,
  month: string,
  folder: string,
  stopping?: AbortSignal,
): Promise<ArchivedFiles> {
  const { postgres } = deps
  const day = `${month}-01`
  await refuseOpenMonth(deps, month)
  await postgres.plain.query('SELECT close_month($1::date)', [day])
  // What was settled or put in quarantine until that moment.
  await refuseOpenMonth(deps, month)
  await countMonth(postgres, day, stopping)
  const target = join(folder, month)
  const verified = (await finished(target, stopping)) ?? (await exported(postgres, month, target, stopping))
  stopping?.throwIfAborted()
  const expected = {
    rows: verified.rows,
    carried_entries: verified.carriedEntries,
    carried_pico: String(verified.carriedPico),
  }
  try {
    await postgres.plain.query('SELECT archive_month($1::date, $2::jsonb, $3)', [
      day,
      JSON.stringify(expected),
      verified.sha256,
    ])
  } catch (error) {
    // Files of another state of this database, from before a backup of it was restored: the next run exports again.
    if (isRefusal(error)) await rename(target, `${target}.refused-${Date.now()}`)
    throw error
  }
  return { ...verified, folder: target }
}

/** By an exception of the function, not by a lock or a connection that ended. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'P0001'

/** Counts the rows of a closed month, some at a time. The database keeps how far. */
async function countMonth(postgres: Postgres, day: string, stopping?: AbortSignal): Promise<void> {
  for (let isMore = true; isMore; ) {
    stopping?.throwIfAborted()
    const sql = 'SELECT count_closed_month($1::date, $2) AS "isMore"'
    const [step] = await postgres.plain.query<{ isMore: boolean }>(sql, [day, COUNTED_AT_ONCE])
    isMore = step!.isMore
  }
}

/** The files that a run which stopped before its last step has left whole; null: there are none. */
async function finished(target: string, stopping?: AbortSignal): Promise<VerifiedArchive | null> {
  if (!existsSync(join(target, MANIFEST_FILE))) return null
  const verified = await verifyArchive(target, stopping).catch(() => null)
  stopping?.throwIfAborted()
  return verified
}

async function exported(
  postgres: Postgres,
  month: string,
  target: string,
  stopping?: AbortSignal,
): Promise<VerifiedArchive> {
  await exportMonth(postgres, month, target, stopping)
  return verifyArchive(target, stopping)
}

/** Removes what killed runs of an earlier version left: each had a folder of its own. */
async function removeAbandoned(target: string): Promise<void> {
  const [folder, prefix] = [dirname(target), `${basename(target)}.partial-`]
  for (const name of await readdir(folder))
    if (name.startsWith(prefix)) await rm(join(folder, name), { recursive: true, force: true })
}

/**
 * Files are written into `<target>.partial`, each with a note of its rows and hash beside it once it is whole. A run that
 * was stopped is continued after the last whole file: the rows of a closed month do not change.
 */
async function exportMonth(
  postgres: Postgres,
  month: string,
  target: string,
  stopping?: AbortSignal,
): Promise<void> {
  const partial = `${target}.partial`
  await mkdir(partial, { recursive: true, mode: 0o700 })
  await removeAbandoned(target)
  const files = []
  let andBefore = false
  for (const { table, key } of TABLES) {
    const partition = await partitionOf(postgres, table, month)
    andBefore ||= partition.includes('_until_')
    const columns = await columnsOf(postgres, partition)
    const name = `${table}.csv.gz`
    const note = join(partial, `${table}${NOTE_ENDING}`)
    const known = await readNote(note)
    const isKnown = known !== null && isDeepStrictEqual(known.columns, columns)
    const written = isKnown
      ? known.written
      : await writeRows(
          join(partial, name),
          columns,
          readBatches(postgres, partition, key, columns, stopping),
        )
    if (!isKnown) await writeFile(note, JSON.stringify({ columns, written }), { flush: true })
    files.push({ table, name, columns, ...written })
  }
  const manifest = newManifest({
    month,
    and_before: andBefore,
    files,
    ...(await countedSums(postgres, month)),
  })
  await writeFile(join(partial, MANIFEST_FILE), printManifest(manifest), { flush: true })
  for (const { table } of TABLES) await rm(join(partial, `${table}${NOTE_ENDING}`))
  await syncFolder(partial)
  await rm(target, { recursive: true, force: true })
  await rename(partial, target)
  await syncFolder(dirname(target))
}

/** The note of a whole file; null: there is none, or it was not written to its end. */
async function readNote(path: string): Promise<{ columns: string[]; written: WrittenFile } | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** A file is on the disk by its name only once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

async function partitionOf(postgres: Postgres, table: string, month: string): Promise<string> {
  const [row] = await postgres.plain.query<{ name: string | null }>(
    'SELECT month_partition($1, $2::date) AS name',
    [table, `${month}-01`],
  )
  if (!row?.name) throw new Error(`${table} has no partition of ${month}`)
  return row.name
}

async function columnsOf(postgres: Postgres, partition: string): Promise<string[]> {
  const rows = await postgres.plain.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($2::text[]) ORDER BY attnum`,
    [partition, LEFT_OUT],
  )
  return rows.map(({ name }) => name)
}

/** Reads a partition in the order of its key, some rows at a time and without a transaction that stays open. */
async function* readBatches(
  postgres: Postgres,
  partition: string,
  key: readonly string[],
  columns: readonly string[],
  stopping?: AbortSignal,
): AsyncGenerator<ArchivedRow[]> {
  const types = key.map((name) => (name === 'kind' ? 'ledger_kind' : 'text'))
  const selected = columns.map(
    (name) =>
      `${name === 'created_at' || name === 'at' ? `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` : `${name}::text`} AS ${name}`,
  )
  const after = key.map((_, index) => `$${index + 1}::${types[index]}`)
  const sql = (where: string) =>
    `SELECT ${selected.join(', ')} FROM ${partition} AS source ${where} ORDER BY ${key.map((name) => `source.${name}`).join(', ')} LIMIT ${ROWS_AT_ONCE}`
  const next = sql(`WHERE (${key.map((name) => `source.${name}`).join(', ')}) > (${after.join(', ')})`)
  let last: Record<string, string | null> | undefined
  do {
    stopping?.throwIfAborted()
    const rows: Record<string, string | null>[] = last
      ? await postgres.plain.query(
          next,
          key.map((name) => last![name]),
        )
      : await postgres.plain.query(sql(''), [])
    if (rows.length > 0) yield rows.map((row) => columns.map((name) => row[name] ?? null))
    last = rows.length === ROWS_AT_ONCE ? rows.at(-1) : undefined
  } while (last)
}

/** What the rows of a counted month add up to, as its manifest has it. */
async function countedSums(
  postgres: Postgres,
  month: string,
): Promise<Pick<ArchiveManifest, 'sums' | 'charge_pico'>> {
  const values = [`${month}-01`]
  const sums = await postgres.plain.query<{ name: string; total: string }>(
    `SELECT split_part(ledger_account, ':', 1) AS name, sum(amount_pico)::text AS total FROM archive_sums
     WHERE month = $1::date GROUP BY 1 ORDER BY 1`,
    values,
  )
  const [charges] = await postgres.plain.query<{ total: string }>(
    `SELECT charge_pico::text AS total FROM archive_counts WHERE month = $1::date AND table_name = 'call_records'`,
    values,
  )
  return {
    sums: Object.fromEntries(sums.map(({ name, total }) => [name, total])),
    charge_pico: charges!.total,
  }
}
