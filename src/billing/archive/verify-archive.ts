import { join } from 'node:path'
import { type ArchivedRow, readRows } from './archive-files.ts'
import { type ArchivedFile, type ArchiveManifest, readManifest } from './archive-manifest.ts'

/** What was counted in the files of an archive. */
export interface VerifiedArchive {
  manifest: ArchiveManifest
  sha256: string
  /** Rows by table. */
  rows: Record<string, number>
  /** Entries that carry the sums of the month forward: one for each account, direction and ledger account that is not 0. */
  carriedEntries: number
  /** The sum of their absolute amounts. */
  carriedPico: bigint
}

/**
 * Proves an archive by its files alone: sizes and hashes are those of its manifest, every ledger transaction has entries
 * that sum to zero, every charge is the capture of its call and every capture that of a call, and the sums are those of
 * the manifest. Reads the files once; memory grows with the accounts, not with the calls. Throws an Error that names what
 * is wrong, and the signal's reason once it is aborted.
 */
export async function verifyArchive(path: string, stopping?: AbortSignal): Promise<VerifiedArchive> {
  const { manifest, folder, sha256 } = await readManifest(path)
  const ledger = ['call_records', 'ledger_transactions', 'ledger_entries'] as const
  const [calls, transactions, entries] = ledger.map(
    (table) => new TableReader(folder, fileOf(manifest, table), stopping),
  )
  const sums = new Map<string, bigint>()
  const carried = new Map<string, bigint>()
  const add = (to: Map<string, bigint>, name: string, amount: bigint) =>
    to.set(name, (to.get(name) ?? 0n) + amount)
  let chargedPico = 0n

  await Promise.all([calls!.next(), transactions!.next(), entries!.next()])
  /** Calls are in the order of their ids, as captures are: those before `id` charged nothing. */
  const nextCharge = async (id: string | null): Promise<bigint> => {
    for (; calls!.row; await calls!.next()) {
      const charge = BigInt(calls!.value('charge_pico') ?? 0)
      if (calls!.value('id') === id) {
        chargedPico += charge
        await calls!.next()
        return charge
      }
      if (charge !== 0n)
        throw new Error(`call ${calls!.value('id')} was charged, and the ledger has no capture of it`)
    }
    if (id !== null) throw new Error(`capture ${id} is of no call`)
    return 0n
  }
  for (; transactions!.row; await transactions!.next()) {
    const [id, kind, account] = ['id', 'kind', 'account_id'].map((name) => transactions!.value(name)!) as [
      string,
      string,
      string,
    ]
    const direction = kind === 'capture' ? 'carried_charges' : 'carried_credits'
    let [total, paid, count] = [0n, 0n, 0]
    for (
      ;
      entries!.row && entries!.value('transaction_id') === id && entries!.value('kind') === kind;
      await entries!.next()
    ) {
      const amount = BigInt(entries!.value('amount_pico')!)
      const ledgerAccount = entries!.value('ledger_account')!
      if (ledgerAccount.startsWith('customer:')) {
        if (ledgerAccount !== `customer:${account}`)
          throw new Error(`transaction ${id} (${kind}) changes another account`)
        paid -= amount
      }
      total += amount
      count += 1
      add(sums, ledgerAccount.replace(/:.*/, ''), amount)
      add(carried, `${account} ${direction} ${ledgerAccount}`, amount)
    }
    if (count === 0 || total !== 0n)
      throw new Error(`transaction ${id} (${kind}) has ${count} entries that sum to ${total}`)
    if (kind !== 'capture') continue
    const charge = await nextCharge(id)
    if (charge !== paid) throw new Error(`call ${id} was charged ${charge}, and the ledger captured ${paid}`)
  }
  await nextCharge(null)
  if (entries!.row) throw new Error(`entries of ${entries!.value('transaction_id')} have no transaction`)

  const others = manifest.files.filter(({ table }) => !ledger.some((known) => known === table))
  const readers = [
    calls!,
    transactions!,
    entries!,
    ...others.map((file) => new TableReader(folder, file, stopping)),
  ]
  for (const reader of readers.slice(ledger.length))
    for (await reader.next(); reader.row; await reader.next());
  for (const reader of readers) reader.prove()
  compareSums(manifest, sums, chargedPico)
  const carriedAmounts = [...carried.values()].filter((amount) => amount !== 0n)
  return {
    ...{ manifest, sha256 },
    rows: Object.fromEntries(manifest.files.map(({ table, rows }) => [table, rows])),
    carriedEntries: carriedAmounts.length,
    carriedPico: carriedAmounts.reduce((sum, amount) => sum + (amount < 0n ? -amount : amount), 0n),
  }
}

function compareSums(manifest: ArchiveManifest, sums: Map<string, bigint>, chargedPico: bigint): void {
  for (const name of new Set([...sums.keys(), ...Object.keys(manifest.sums)]))
    if (String(sums.get(name) ?? 0n) !== (manifest.sums[name] ?? '0'))
      throw new Error(
        `the entries of ${name} sum to ${sums.get(name) ?? 0n}, the manifest says ${manifest.sums[name] ?? 0}`,
      )
  if (String(chargedPico) !== manifest.charge_pico)
    throw new Error(`the calls were charged ${chargedPico}, the manifest says ${manifest.charge_pico}`)
}

function fileOf(manifest: ArchiveManifest, table: string): ArchivedFile {
  const file = manifest.files.find((known) => known.table === table)
  if (!file) throw new Error(`the manifest names no file of ${table}`)
  return file
}

/** Rows read between two looks at the signal: some milliseconds. */
const ROWS_BETWEEN_LOOKS = 10_000

/** The rows of one file, one after the other. */
class TableReader {
  row: ArchivedRow | null = null
  readonly #file: ArchivedFile
  readonly #written = { bytes: 0, sha256: '' }
  readonly #columns: Map<string, number>
  readonly #rows: AsyncGenerator<ArchivedRow>
  #count = 0

  readonly #stopping: AbortSignal | undefined

  constructor(folder: string, file: ArchivedFile, stopping?: AbortSignal) {
    this.#file = file
    this.#stopping = stopping
    this.#columns = new Map(file.columns.map((name, index) => [name, index]))
    this.#rows = readRows(join(folder, file.name), this.#written)
  }

  async next(): Promise<void> {
    const { value, done } = await this.#rows.next()
    this.row = done ? null : value
    if (this.row === null) return
    this.#count += 1
    if (this.#count % ROWS_BETWEEN_LOOKS === 0) this.#stopping?.throwIfAborted()
    if (this.row.length !== this.#columns.size)
      throw new Error(`row ${this.#count} of ${this.#file.name} has ${this.row.length} fields`)
  }

  value(column: string): string | null {
    const index = this.#columns.get(column)
    if (index === undefined) throw new Error(`${this.#file.name} has no column ${column}`)
    return this.row?.[index] ?? null
  }

  /** Compares the file, once it was read to its end, with the manifest. */
  prove(): void {
    const { name, rows, bytes, sha256 } = this.#file
    if (this.#written.bytes !== bytes || this.#written.sha256 !== sha256)
      throw new Error(`${name} is not the file of the manifest: its size or SHA-256 differs`)
    if (this.#count !== rows) throw new Error(`${name} has ${this.#count} rows, the manifest says ${rows}`)
  }
}
