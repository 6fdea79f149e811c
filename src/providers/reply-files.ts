import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { BodyOwner, BodyStore, StoredBody } from '../platform/body-store/body-store.ts'
import { FieldSplitter } from './field-splitter.ts'
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

/** More than any request asks for. Each is an open file while it comes. */
const FILES_MAX = 32
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
    return (this.#files[0] ?? this.#open())?.push(chunk) === true
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

  /** Null: there are too many. */
  #open(): FileWriter | null {
    if (this.#isDiscarded) throw new Error('a file of a reply that is over')
    if (this.#files.length >= FILES_MAX) return null
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
      .catch((error: unknown) => {
        // The provider is read to its end, since it bills its answer; what comes of the file is dropped.
        this.#through.destroy()
        throw error
      })
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
