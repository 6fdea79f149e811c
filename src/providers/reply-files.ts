import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { BodyOwner, BodyStore, StoredBody } from '../platform/body-store/body-store.ts'
import type { Exchange } from './http/exchange.ts'

/** Where the files of a reply are: the reply is one, or every text of this name in its JSON is. */
export type FilePlace = { kind: 'body' } | { kind: 'field'; name: string }

/** A file of a reply, in the store. */
export interface ReplyFile extends StoredBody {
  /** Its first bytes. */
  head: Buffer
}

/** Where they are stored, and whose they are. */
interface OwnedFiles {
  store: Pick<BodyStore, 'put'>
  owner: BodyOwner
}

type Flow = Pick<Exchange, 'hold' | 'release'>

/** One file takes no more. */
const FILE_BYTES_MAX = 32 * 1024 * 1024
const HEAD_BYTES = 64
/** What waits to be stored, before the provider is read no further. */
const WAITING_BYTES = 256 * 1024

/**
 * Passes the files of a reply on to the store while it arrives, and keeps the rest. A provider that is faster than the
 * store is read no faster than that.
 */
export class ReplyFiles {
  readonly #target: OwnedFiles
  readonly #exchange: Flow
  readonly #splitter: FieldSplitter | null
  readonly #files: FileWriter[] = []
  #isDiscarded = false

  constructor(place: FilePlace, target: OwnedFiles, exchange: Flow) {
    this.#target = target
    this.#exchange = exchange
    this.#splitter = place.kind === 'field' ? new FieldSplitter(place.name, () => this.#open()) : null
  }

  /** Takes a piece of the reply. False: it is none that can be taken. */
  push(chunk: Buffer): boolean {
    if (this.#splitter) return this.#splitter.push(chunk)
    return (this.#files[0] ?? this.#open()).push(chunk)
  }

  /**
   * The reply is over: its JSON with the number of each file in the place of its text, and the files, once they are
   * stored. Rejects as the store does.
   */
  async end(): Promise<{ rest: string; files: ReplyFile[] }> {
    if (!this.#splitter) this.#files[0]?.end()
    const files = await Promise.all(this.#files.map((file) => file.stored))
    return { rest: this.#splitter?.rest ?? '', files }
  }

  /** Nothing of the reply is wanted: what was not stored to its end leaves nothing behind. */
  discard(): void {
    this.#isDiscarded = true
    for (const file of this.#files) file.discard()
  }

  #open(): FileWriter {
    if (this.#isDiscarded) throw new Error('a file of a reply that is over')
    const file = new FileWriter(this.#target, this.#exchange)
    this.#files.push(file)
    return file
  }
}

/** A file on its way into the store. */
class FileWriter {
  readonly stored: Promise<ReplyFile>
  readonly #through = new PassThrough({ highWaterMark: WAITING_BYTES })
  readonly #exchange: Flow
  #head = Buffer.alloc(0)
  #bytes = 0

  constructor({ store, owner }: OwnedFiles, exchange: Flow) {
    this.#exchange = exchange
    const options = { maxBytes: FILE_BYTES_MAX, mediaType: 'application/octet-stream' }
    this.stored = store
      .put(owner, randomUUID(), this.#through, options)
      .then((body) => ({ ...body, head: this.#head }))
      // What waits to be written will not be.
      .finally(() => exchange.release())
    // Both are heard of at the end of the reply.
    this.stored.catch(() => undefined)
    this.#through.on('error', () => undefined)
  }

  push(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes > FILE_BYTES_MAX) return false
    if (this.#head.length < HEAD_BYTES)
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, HEAD_BYTES - this.#head.length)])
    if (!this.#through.destroyed && !this.#through.write(chunk)) {
      this.#exchange.hold()
      this.#through.once('drain', () => this.#exchange.release())
    }
    return true
  }

  end(): void {
    this.#through.end()
  }

  discard(): void {
    if (!this.#through.writableEnded) this.#through.destroy(new Error('the reply broke off'))
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])
const BASE64 = /^[A-Za-z0-9+/=]*$/
/** Of a reply without its files. */
const REST_BYTES_MAX = 256 * 1024

/**
 * Takes the texts of one field, which are base64, out of a JSON text that comes in pieces, and puts their numbers in
 * their place: the first has 0. States: between texts, within one that is kept, within one that is taken out.
 */
class FieldSplitter {
  readonly #name: Buffer
  readonly #open: () => FileWriter
  #kept: Buffer[] = []
  #keptBytes = 0
  #state: 'between' | 'text' | 'file' = 'between'
  /** The text before, as far as it can be the name of the field. */
  #text = Buffer.alloc(0)
  /** A colon follows the name of the field. */
  #isNamed = false
  #isEscaped = false
  #file: FileWriter | null = null
  #opened = 0

  constructor(name: string, open: () => FileWriter) {
    this.#name = Buffer.from(name)
    this.#open = open
  }

  /** What was kept, JSON. */
  get rest(): string {
    return Buffer.concat(this.#kept).toString('utf8')
  }

  push(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length; ) {
      const next = this.#step(chunk, at)
      if (next === null) return false
      at = next
    }
    return this.#keptBytes <= REST_BYTES_MAX
  }

  /** Takes bytes up to the next change of state. Returns where that is; null: it is no base64. */
  #step(chunk: Buffer, at: number): number | null {
    switch (this.#state) {
      case 'between':
        return this.#between(chunk, at)
      case 'text':
        return this.#withinText(chunk, at)
      case 'file':
        return this.#withinFile(chunk, at)
      default:
        return this.#state satisfies never
    }
  }

  #between(chunk: Buffer, at: number): number {
    const quote = chunk.indexOf(QUOTE, at)
    const end = quote < 0 ? chunk.length : quote + 1
    const last = lastOf(chunk.subarray(at, quote < 0 ? end : quote))
    if (last !== undefined) this.#isNamed = last === COLON && this.#text.equals(this.#name)
    this.#keep(chunk.subarray(at, end))
    if (quote >= 0) this.#begin()
    return end
  }

  #begin(): void {
    this.#text = Buffer.alloc(0)
    this.#state = this.#isNamed ? 'file' : 'text'
    if (!this.#isNamed) return
    this.#isNamed = false
    this.#file = this.#open()
    this.#keep(Buffer.from(String(this.#opened++)))
  }

  #withinText(chunk: Buffer, at: number): number {
    let end = at
    while (end < chunk.length) {
      const byte = chunk[end++]!
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) {
        this.#state = 'between'
        break
      }
    }
    const piece = chunk.subarray(at, end)
    this.#keep(piece)
    if (this.#text.length <= this.#name.length) {
      const text = this.#state === 'between' ? piece.subarray(0, -1) : piece
      this.#text = Buffer.concat([this.#text, text.subarray(0, this.#name.length + 1)])
    }
    return end
  }

  #withinFile(chunk: Buffer, at: number): number | null {
    const quote = chunk.indexOf(QUOTE, at)
    const piece = chunk.subarray(at, quote < 0 ? chunk.length : quote)
    if (!BASE64.test(piece.toString('latin1')) || !this.#file!.push(piece)) return null
    if (quote < 0) return chunk.length
    this.#file!.end()
    this.#state = 'between'
    this.#keep(chunk.subarray(quote, quote + 1))
    return quote + 1
  }

  #keep(piece: Buffer): void {
    this.#keptBytes += piece.length
    if (this.#keptBytes <= REST_BYTES_MAX) this.#kept.push(Buffer.from(piece))
  }
}

/** The last byte that is no space; undefined: there is none. */
function lastOf(bytes: Buffer): number | undefined {
  for (let index = bytes.length - 1; index >= 0; index--) {
    if (!SPACES.has(bytes[index]!)) return bytes[index]
  }
  return undefined
}
