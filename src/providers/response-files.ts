import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { BodyOwner, BodyStore, StoredBody } from '../platform/body-store/body-store.ts'
import { FieldSplitter } from './field-splitter.ts'
import type { Exchange } from './http/exchange.ts'

/** Where a response has files: the body is one, or every text of this field in its JSON is one. */
export type FilePlace = { kind: 'body' } | { kind: 'field'; name: string }

export interface ResponseFile extends StoredBody {
  /** Its first bytes. */
  head: Buffer
}

/** Where the files are stored, and their owner. */
interface OwnedFiles {
  store: Pick<BodyStore, 'put'>
  owner: BodyOwner
}

type Flow = Pick<Exchange, 'hold' | 'release'>

/** More than any request asks for. Each is an open file while it arrives. */
const FILES_MAX = 32
/** The maximum length of one file. */
const FILE_BYTES_MAX = 32 * 1024 * 1024
const HEAD_BYTES = 64
/** The bytes that may wait for the store before reading from the provider pauses. */
const WAITING_BYTES = 256 * 1024

/**
 * Stores the files of a response while it arrives, and keeps the rest of the JSON. Reads from the provider only as
 * fast as the store accepts.
 */
export class ResponseFiles {
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

  /** Reads a piece of the response. False if it cannot be accepted. */
  push(chunk: Buffer): boolean {
    if (this.#splitter) return this.#splitter.push(chunk)
    return (this.#files[0] ?? this.#open())?.push(chunk) === true
  }

  /**
   * Ends the response. Resolves once the files are stored, with the JSON, which has the index of each file in the
   * place of its text. Rejects with the store's error.
   */
  async end(): Promise<{ rest: string; files: ResponseFile[] }> {
    if (!this.#splitter) this.#files[0]?.end()
    const files = await Promise.all(this.#files.map((file) => file.stored))
    return { rest: this.#splitter?.rest ?? '', files }
  }

  /** Drops the response. Files that are not completely stored are removed. */
  discard(): void {
    this.#isDiscarded = true
    for (const file of this.#files) file.discard()
  }

  /** Null if there are too many files. */
  #open(): FileWriter | null {
    if (this.#isDiscarded) throw new Error('a file begins after the end of the response')
    if (this.#files.length >= FILES_MAX) return null
    const file = new FileWriter(this.#target, this.#exchange)
    this.#files.push(file)
    return file
  }
}

class FileWriter {
  readonly stored: Promise<ResponseFile>
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
      .catch((error: unknown) => {
        // The provider bills its response, so that it is read to the end; the rest of the file is dropped.
        this.#through.destroy()
        throw error
      })
      .finally(() => exchange.release())
    // `end` handles both errors.
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
    if (!this.#through.writableEnded) this.#through.destroy(new Error('the response ended early'))
  }
}
