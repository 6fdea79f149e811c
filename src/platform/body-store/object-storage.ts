import type { Readable } from 'node:stream'

/** What a stored object is known by without reading it. */
export interface ObjectEntry {
  /** Segments of letters, digits, `_` and `-`, joined by `/`. */
  key: string
  bytes: number
  /** Unix ms. */
  modifiedAt: number
}

/** Where sealed bodies are: a folder, or a bucket. What is not written to its end is not there. */
export interface ObjectStorage {
  /** Rejects, and leaves nothing behind, when `content` throws. */
  write(key: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Null if there is no such object. */
  read(key: string): Promise<Readable | null>
  /** All objects whose keys start so. */
  list(prefix: string): Promise<ObjectEntry[]>
  /** Idempotent. */
  remove(keys: readonly string[]): Promise<void>
  /** Removes what processes that died left half written before this time, unix ms. */
  removeUnfinished(before: number): Promise<void>
  /** Bytes that can still be written; null: it knows no bound. */
  freeBytes(): Promise<number | null>
  close(): void
}
