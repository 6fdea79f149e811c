import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'

/** A row as text, as PostgreSQL prints it in UTC. */
export type ArchivedRow = readonly (string | null)[]

export interface WrittenFile {
  rows: number
  bytes: number
  /** Of the compressed file, hex. */
  sha256: string
}

/**
 * Writes rows as compressed CSV with a header, and waits until the disk has them. `COPY … FROM … CSV HEADER` reads the
 * format: null is an empty field, an empty text is quoted.
 */
export async function writeRows(
  path: string,
  columns: readonly string[],
  batches: AsyncIterable<readonly ArchivedRow[]>,
): Promise<WrittenFile> {
  let rows = 0
  async function* text() {
    yield line(columns)
    for await (const batch of batches) {
      rows += batch.length
      yield batch.map(line).join('')
    }
  }
  const hash = new HashedBytes()
  await pipeline(text(), createGzip(), hash, createWriteStream(path))
  const file = await open(path)
  await file.sync().finally(() => file.close())
  return { rows, bytes: hash.bytes, sha256: hash.digest() }
}

const line = (row: ArchivedRow): string => `${row.map(field).join(',')}\n`

const field = (value: string | null): string => {
  if (value === null) return ''
  return value === '' || /[",\r\n\\]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** The rows of a file, after its header; `written` has its size and hash once all were read. */
export async function* readRows(
  path: string,
  written: Omit<WrittenFile, 'rows'>,
): AsyncGenerator<ArchivedRow> {
  const hash = new HashedBytes()
  const plain = createGunzip()
  const done = pipeline(createReadStream(path), hash, plain)
  // The failure is thrown below; the loop ends by it.
  done.catch(() => undefined)
  const parser = new CsvRows()
  plain.setEncoding('utf8')
  let isHeader = true
  for await (const chunk of plain) {
    for (const row of parser.add(chunk as string)) {
      if (!isHeader) yield row
      isHeader = false
    }
  }
  await done
  if (!parser.isEmpty) throw new Error(`${path} ends within a row`)
  Object.assign(written, { bytes: hash.bytes, sha256: hash.digest() })
}

/** Counts and hashes what passes. */
class HashedBytes extends Transform {
  bytes = 0
  readonly #hash = createHash('sha256')

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length
    this.#hash.update(chunk)
    done(null, chunk)
  }

  digest = (): string => this.#hash.digest('hex')
}

/** Splits CSV into rows as it arrives. */
class CsvRows {
  #rest = ''

  get isEmpty(): boolean {
    return this.#rest === ''
  }

  add(chunk: string): ArchivedRow[] {
    const text = this.#rest + chunk
    const rows: ArchivedRow[] = []
    let row: (string | null)[] = []
    let start = 0
    for (let at = 0; ; ) {
      const quoted = text[at] === '"'
      const end = quoted ? closingQuote(text, at) : fieldEnd(text, at)
      const separator = text[end]
      if (end < 0 || separator === undefined) break
      const value = quoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end)
      row.push(value === '' && !quoted ? null : value)
      at = end + 1
      if (separator !== '\n') continue
      rows.push(row)
      row = []
      start = at
    }
    this.#rest = text.slice(start)
    return rows
  }
}

/** The index after a quoted field; -1 if the text ends before it. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] === undefined) return -1
    if (text[at + 1] !== '"') return at + 1
  }
  return -1
}

function fieldEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === ',' || text[at] === '\n') return at
  return -1
}
