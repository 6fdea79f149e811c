import { Readable } from 'node:stream'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { ObjectStorage } from './object-storage.ts'
import type { StreamSealer } from './stream-sealer.ts'

/** The call that a body belongs to. */
export interface BodyOwner {
  accountId: string
  callId: string
}

export interface StoredBody {
  /** `<account>/<call>/<name>`. */
  ref: string
  bytes: number
  mediaType: string
}

export interface PutOptions {
  /** More is refused with 413. */
  maxBytes: number
  mediaType: string
  /** Room that was taken for it. Absent: room is taken as it comes. */
  room?: Room
}

/** Room in the store, for bodies of which it is known how long they are at most. */
export interface Room {
  /** What is left of it is given back. Idempotent. */
  release(): void
}

/** Bytes that are stored. */
export interface BodyStoreLimits {
  /** Beyond it: 429 `concurrency_limit_exceeded`. */
  bytesPerAccount: number
  /** Beyond it: 503 `overloaded`. Room is reserved for an account up to what is left for the others. */
  bytesInAll: number
  /** Of the disk, left to others: 503 below it. */
  freeBytes: number
}

/**
 * Where the uploads and generated files of calls wait, sealed, beside the queue: they stream through here and never
 * through Redis, and are removed with their call. Errors name no content.
 */
export interface BodyStore {
  /**
   * Takes room for so many bytes of an account, so that one of several bodies is refused before it is read, and not
   * all of them in their middle. Throws where there is none.
   */
  reserve(accountId: string, bytes: number): Promise<Room>
  /** Stores a body under a name that its call uses once. When `content` or a limit breaks it off, nothing of it stays. */
  put(
    owner: BodyOwner,
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<StoredBody>
  /** Null if it is gone. The stream breaks off with an error where the body is not what was stored. */
  open(ref: string): Promise<Readable | null>
  /** Removes all bodies of a call. Idempotent. */
  remove(owner: BodyOwner): Promise<void>
  /** Removes what calls left behind that ended without anybody to see it. `olderThanMs`: no call lives so long. */
  sweep(olderThanMs: number): Promise<void>
  close(): void
}

interface BodyStoreOptions {
  storage: ObjectStorage
  sealer: StreamSealer
  limits: BodyStoreLimits
  clock: () => number
}

/** Nothing else becomes part of a path. */
const SEGMENT = /^[\w-]{1,64}$/

export function createBodyStore({ storage, sealer, limits, clock }: BodyStoreOptions): BodyStore {
  const usage = createUsage(storage, limits, clock)
  const prefixOf = ({ accountId, callId }: BodyOwner) => `${segment(accountId)}/${segment(callId)}/`
  const checkDisk = async (bytes: number) => {
    const free = await storage.freeBytes()
    if (free !== null && free - bytes < limits.freeBytes) throw storeIsFull()
  }
  return {
    reserve: (accountId, bytes) =>
      available(async () => {
        await checkDisk(bytes)
        return usage.reserve(accountId, bytes)
      }),

    async put(owner, name, content, { maxBytes, mediaType, room }) {
      const ref = prefixOf(owner) + segment(name)
      const share = await available(async () => {
        if (!room) await checkDisk(maxBytes)
        return usage.open(owner.accountId, room as TakenRoom | undefined)
      })
      let bytes = 0
      let contentError: unknown
      const counted = async function* () {
        try {
          for await (const chunk of content) {
            bytes += chunk.length
            if (bytes > maxBytes) throw bodyTooLarge(maxBytes)
            await share.add(chunk.length)
            yield chunk
          }
        } catch (error) {
          contentError = error
          throw error
        }
      }
      try {
        await storage.write(ref, sealer.seal(counted(), ref))
        share.close(true)
        return { ref, bytes, mediaType }
      } catch (error) {
        share.close(false)
        throw contentError ?? storeIsFull(error)
      }
    },

    async open(ref) {
      if (!ref.split('/').every((part) => SEGMENT.test(part))) throw new Error('not the reference of a body')
      const sealed = await available(() => storage.read(ref))
      if (!sealed) return null
      const body = Readable.from(sealer.open(sealed, ref), { objectMode: false })
      // A generator that was never started would not close what it reads from.
      return body.once('close', () => sealed.destroy())
    },

    async remove(owner) {
      const bodies = await storage.list(prefixOf(owner))
      if (bodies.length > 0) await storage.remove(bodies.map(({ key }) => key))
    },

    async sweep(olderThanMs) {
      const before = clock() - olderThanMs
      const old = (await storage.list('')).filter(({ modifiedAt }) => modifiedAt < before)
      if (old.length > 0) await storage.remove(old.map(({ key }) => key))
      await storage.removeUnfinished(before)
    },

    close: () => storage.close(),
  }
}

/** Whatever goes wrong with the storage is a 503, its reason for the log. */
async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ApiError ? error : storeIsFull(error)
  }
}

function segment(text: string): string {
  if (!SEGMENT.test(text))
    throw new Error('the name of a body has other characters than letters, digits, _ and -')
  return text
}

interface TakenRoom extends Room {
  /** Uses some of it. Returns how much of that it covers. */
  use(bytes: number): number
}

/** What is stored is listed at most this often while there is room. */
const MEASURE_EVERY_MS = 2_000

/**
 * Bytes that are stored, by account and in all: as listed, since other processes store and remove too, and what this
 * one has written since. What others are writing at a moment is not seen, so the limits can be exceeded by that.
 */
function createUsage(storage: ObjectStorage, limits: BodyStoreLimits, clock: () => number) {
  const singleFlight = createSingleFlight()
  let measuredAt = Number.NEGATIVE_INFINITY
  let stored = new Map<string, number>()
  const writing = new Map<string, number>()
  const add = (counts: Map<string, number>, accountId: string, bytes: number) => {
    for (const scope of [accountId, IN_ALL]) counts.set(scope, (counts.get(scope) ?? 0) + bytes)
  }
  const measure = () =>
    singleFlight('measure', async () => {
      const found = new Map<string, number>()
      for (const { key, bytes } of await storage.list('')) add(found, key.slice(0, key.indexOf('/')), bytes)
      stored = found
      measuredAt = clock()
    })
  const sumOf = (scope: string) => (stored.get(scope) ?? 0) + (writing.get(scope) ?? 0)
  const problem = (accountId: string, maxShare: number): ApiError | null => {
    if (sumOf(accountId) > limits.bytesPerAccount) return accountIsFull()
    const free = limits.bytesInAll - sumOf(IN_ALL)
    return free < 0 || sumOf(accountId) > maxShare * free ? storeIsFull() : null
  }
  /**
   * Throws where there is no room, by a listing of now: calls end elsewhere as well. `maxShare` bounds what the account
   * has by what is left for the others.
   */
  const check = async (accountId: string, maxShare = Number.POSITIVE_INFINITY) => {
    if (!problem(accountId, maxShare)) return
    await measure()
    const full = problem(accountId, maxShare)
    if (full) throw full
  }
  const isStale = () => clock() - measuredAt >= MEASURE_EVERY_MS
  const addWriting = (accountId: string, bytes: number) => {
    add(writing, accountId, bytes)
    if (writing.get(accountId) === 0) writing.delete(accountId)
  }
  return {
    async reserve(accountId: string, bytes: number): Promise<TakenRoom> {
      if (isStale()) await measure()
      let left = bytes
      const release = () => {
        addWriting(accountId, -left)
        left = 0
      }
      const use = (used: number) => {
        const covered = Math.min(used, left)
        left -= covered
        return covered
      }
      addWriting(accountId, left)
      try {
        await check(accountId, 1)
      } catch (error) {
        release()
        throw error
      }
      return { use, release }
    },

    /** Throws where there is no room left. */
    async open(accountId: string, room?: TakenRoom) {
      if (isStale()) await measure()
      if (!room) await check(accountId)
      let bytes = 0
      return {
        /** Throws where the account or all of them would store more than they may. */
        async add(more: number): Promise<void> {
          const beyond = more - (room?.use(more) ?? 0)
          bytes += more
          if (beyond === 0) return
          addWriting(accountId, beyond)
          await check(accountId)
        },
        /** It was stored as a whole, or not at all. */
        close(isStored: boolean): void {
          addWriting(accountId, -bytes)
          if (isStored) add(stored, accountId, bytes)
        },
      }
    },
  }
}

/** No account has this id. */
const IN_ALL = ''

const bodyTooLarge = (maxBytes: number): ApiError =>
  new ApiError('request_too_large', `A file has more than ${maxBytes} bytes. Send a smaller one.`)

const accountIsFull = (): ApiError => {
  const { code, message, ...details } = CALL_ERRORS.accountFull
  return new ApiError(code, message, details)
}

const storeIsFull = (cause?: unknown): ApiError =>
  new ApiError('overloaded', 'This gateway holds as many bytes of files as it can. Retry shortly.', {
    retryAfterSeconds: 5,
    cause,
  })
