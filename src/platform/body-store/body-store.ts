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
  /** Maximum size. A longer body is refused with 413. */
  maxBytes: number
  mediaType: string
  /** Space reserved for the body. Absent: space is reserved while the body arrives. */
  room?: Room
}

/** Reserved space in the store, for bodies whose maximum size is known. */
export interface Room {
  /** Returns the unused rest. Idempotent. */
  release(): void
}

/** Maximum sizes, in bytes of stored bodies. */
export interface BodyStoreLimits {
  /** Exceeded: 429 `concurrency_limit_exceeded`. */
  bytesPerAccount: number
  /** Exceeded: 503 `overloaded`. One account can reserve at most what is left for the others. */
  bytesInAll: number
  /** Free disk space to keep. Below it: 503. */
  freeBytes: number
}

/**
 * Stores the uploads and generated files of calls, sealed, beside the queue. They are streamed and never pass through
 * Redis, and are removed with their call. Errors contain no content.
 */
export interface BodyStore {
  /**
   * Reserves this many bytes for an account, so that one of several bodies is refused before it is read and not midway.
   * Throws when the space is not available.
   */
  reserve(accountId: string, bytes: number): Promise<Room>
  /** Stores a body under a name that is unique within its call. If `content` or a limit aborts the write, nothing is kept. */
  put(
    owner: BodyOwner,
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<StoredBody>
  /** Null if the body is gone. The stream fails if the stored bytes were altered. */
  open(ref: string): Promise<Readable | null>
  /** Removes all bodies of a call. Idempotent. */
  remove(owner: BodyOwner): Promise<void>
  /** Removes bodies whose call ended without removing them. `olderThanMs` exceeds the lifetime of any call. */
  sweep(olderThanMs: number): Promise<void>
  close(): void
}

interface BodyStoreOptions {
  storage: ObjectStorage
  sealer: StreamSealer
  limits: BodyStoreLimits
  clock: () => number
}

/** The only characters that can become part of a path. */
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
      if (!ref.split('/').every((part) => SEGMENT.test(part))) throw new Error('invalid body reference')
      const sealed = await available(() => storage.read(ref))
      if (!sealed) return null
      const body = Readable.from(sealer.open(sealed, ref), { objectMode: false })
      // A generator that was never started does not close its source.
      return body.once('close', () => sealed.destroy())
    },

    async remove(owner) {
      for await (const bodies of storage.list(prefixOf(owner))) {
        if (bodies.length === 0) continue
        await storage.remove(bodies.map(({ key }) => key))
        usage.forget(
          owner.accountId,
          bodies.reduce((sum, { bytes }) => sum + bytes, 0),
        )
      }
    },

    async sweep(olderThanMs) {
      const before = clock() - olderThanMs
      for await (const bodies of storage.list('')) {
        const old = bodies.filter(({ modifiedAt }) => modifiedAt < before)
        if (old.length > 0) await storage.remove(old.map(({ key }) => key))
      }
      await storage.removeUnfinished(before)
    },

    close: () => storage.close(),
  }
}

/** Turns every storage failure into a 503; its cause is logged. */
async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ApiError ? error : storeIsFull(error)
  }
}

function segment(text: string): string {
  if (!SEGMENT.test(text)) throw new Error('a body name may contain only letters, digits, _ and -')
  return text
}

interface TakenRoom extends Room {
  /** Uses reserved bytes. Returns how many of `bytes` the reservation covers. */
  use(bytes: number): number
}

/** While there is space, stored bodies are listed at most this often, and in at most 2 % of the time. */
const MEASURE_EVERY_MS = 2_000
const REST_PER_MS = 50
/** While the store is full, in at most a sixth of the time. */
const REST_PER_MS_FULL = 5

/**
 * Stored bytes by account and in total: the last listing, since other processes store and remove bodies too, plus what
 * this process has stored and removed since. Writes of other processes since then are not counted, so the limits can be
 * exceeded by them.
 */
function createUsage(storage: ObjectStorage, limits: BodyStoreLimits, clock: () => number) {
  const singleFlight = createSingleFlight()
  let measuredAt = Number.NEGATIVE_INFINITY
  let tookMs = 0
  let stored = new Map<string, number>()
  /** Stored by this process since the listing began, which may have passed it by. */
  let storedMeanwhile = new Map<string, number>()
  const writing = new Map<string, number>()
  const add = (counts: Map<string, number>, accountId: string, bytes: number) => {
    for (const scope of [accountId, IN_ALL]) counts.set(scope, (counts.get(scope) ?? 0) + bytes)
  }
  const measure = () =>
    singleFlight('measure', async () => {
      const found = new Map<string, number>()
      const startedAt = clock()
      storedMeanwhile = new Map()
      for await (const bodies of storage.list(''))
        for (const { key, bytes } of bodies) add(found, key.slice(0, key.indexOf('/')), bytes)
      for (const [scope, bytes] of storedMeanwhile) found.set(scope, (found.get(scope) ?? 0) + bytes)
      stored = found
      measuredAt = clock()
      tookMs = measuredAt - startedAt
    })
  const measureAccount = async (accountId: string) => {
    let sum = 0
    for await (const bodies of storage.list(`${accountId}/`)) for (const { bytes } of bodies) sum += bytes
    add(stored, accountId, sum - (stored.get(accountId) ?? 0))
  }
  const sumOf = (scope: string) => (stored.get(scope) ?? 0) + (writing.get(scope) ?? 0)
  const isAccountFull = (accountId: string) => sumOf(accountId) > limits.bytesPerAccount
  const isStoreFull = (accountId: string, maxShare: number) => {
    const free = limits.bytesInAll - sumOf(IN_ALL)
    return free < 0 || sumOf(accountId) > maxShare * free
  }
  /**
   * Throws when there is no space. Lists the bodies of the account first, and then all, since other processes remove
   * bodies too. `maxShare` bounds an account by what is left for the others.
   */
  const check = async (accountId: string, maxShare = Number.POSITIVE_INFINITY) => {
    if (!isAccountFull(accountId) && !isStoreFull(accountId, maxShare)) return
    await measureAccount(accountId)
    if (isAccountFull(accountId)) throw accountIsFull()
    if (!isStoreFull(accountId, maxShare)) return
    if (clock() - measuredAt >= REST_PER_MS_FULL * tookMs) await measure()
    if (isStoreFull(accountId, maxShare)) throw storeIsFull()
  }
  /** Waits for the first listing only; a failed one is repeated with the next body. */
  const refresh = async () => {
    if (clock() - measuredAt < Math.max(MEASURE_EVERY_MS, REST_PER_MS * tookMs)) return
    const measuring = measure()
    if (measuredAt === Number.NEGATIVE_INFINITY) await measuring
    else measuring.catch(() => undefined)
  }
  const addWriting = (accountId: string, bytes: number) => {
    add(writing, accountId, bytes)
    if (writing.get(accountId) === 0) writing.delete(accountId)
  }
  return {
    async reserve(accountId: string, bytes: number): Promise<TakenRoom> {
      await refresh()
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

    /** Throws when there is no space left. */
    async open(accountId: string, room?: TakenRoom) {
      await refresh()
      if (!room) await check(accountId)
      let bytes = 0
      return {
        /** Throws when the account or the whole store would exceed its limit. */
        async add(more: number): Promise<void> {
          const beyond = more - (room?.use(more) ?? 0)
          bytes += more
          if (beyond === 0) return
          addWriting(accountId, beyond)
          await check(accountId)
        },
        /** `isStored`: the whole body was stored. A body is never stored in part. */
        close(isStored: boolean): void {
          addWriting(accountId, -bytes)
          if (!isStored) return
          for (const counts of [stored, storedMeanwhile]) add(counts, accountId, bytes)
        },
      }
    },

    /** Removed bodies. Those that another process stored since the last listing were not counted. */
    forget(accountId: string, bytes: number): void {
      add(stored, accountId, -Math.min(bytes, stored.get(accountId) ?? 0))
    },
  }
}

/** Key of the total; no account has this id. */
const IN_ALL = ''

const bodyTooLarge = (maxBytes: number): ApiError =>
  new ApiError('request_too_large', `A file exceeds ${maxBytes} bytes. Send a smaller file.`)

const accountIsFull = (): ApiError => {
  const { code, message, ...details } = CALL_ERRORS.accountFull
  return new ApiError(code, message, details)
}

const storeIsFull = (cause?: unknown): ApiError =>
  new ApiError('overloaded', 'The file storage of this gateway is full. Retry shortly.', {
    retryAfterSeconds: 5,
    cause,
  })
