import type { Readable } from 'node:stream'

/** Metadata of a stored object. */
export interface ObjectEntry {
  /** Segments of letters, digits, `_` and `-`, joined by `/`. */
  key: string
  bytes: number
  /** Unix ms. */
  modifiedAt: number
}

/** Storage of sealed bodies: a folder or a bucket. An incomplete write is not visible. */
export interface ObjectStorage {
  /** Rejects and leaves nothing behind when `content` throws. */
  write(key: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Null if there is no such object. */
  read(key: string): Promise<Readable | null>
  /** The objects of a call (`<account>/<call>/`), of an account (`<account>/`) or of all (``), in portions. */
  list(prefix: string): AsyncIterable<ObjectEntry[]>
  /** Idempotent. */
  remove(keys: readonly string[]): Promise<void>
  /** Removes unfinished writes of dead processes that started before this time, unix ms. */
  removeUnfinished(before: number): Promise<void>
  /** Free space in bytes; null if the storage has no limit. */
  freeBytes(): Promise<number | null>
  close(): void
}
