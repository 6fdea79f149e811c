import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallJob } from '../../core/calls/call-job.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { createPostgresPool, type Postgres, type PostgresPool } from '../../platform/postgres/postgres.ts'
import type { ByteSealer } from '../../platform/sealing.ts'

interface CallBodiesOptions {
  databaseUrl: string
  /** Shown in pg_stat_activity. */
  name: string
  sealer: ByteSealer
  logger: Logger
}

/** A longer body is stored in PostgreSQL, where its bytes take eight times the processor time that they take in Redis. */
const BODY_OF_JOB_MAX = 1024 * 1024
/** A longer one is opened off the event loop, as bytes, and counts among those that a worker holds. */
const TEXT_BYTES_MAX = 256 * 1024
/** A separate pool, so that large values delay nothing else, with short timeouts. */
const POOL = { poolSize: 4, connectTimeoutMs: 1_500, statementTimeoutMs: 8_000 }

const PUT = 'INSERT INTO call_bodies (call_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING'
/** pg reads values as text only: base64 takes a third of the time of hexadecimal. */
const READ =
  "SELECT encode(substring(sealed FROM $2 FOR $3), 'base64') AS slice FROM call_bodies WHERE call_id = $1"
const SLICE_BYTES = 4 * 1024 * 1024
const DROP = 'DELETE FROM call_bodies WHERE call_id = $1'

/**
 * Stores the text of a call for its worker: sealed in its job or, if it is long, beside the queue in PostgreSQL, so
 * that Redis does not store large values. Deleted when the call has ended.
 */
export type CallBodies = ReturnType<typeof createCallBodies>

export function createCallBodies(options: CallBodiesOptions) {
  const { sealer } = options
  const pool = createPostgresPool({ ...options, ...POOL })
  const isOfJob = (body: string | Buffer) => body.length <= BODY_OF_JOB_MAX
  return {
    /** Seals a short body for the data of its job; null if it must be stored beside it. */
    seal: (callId: CallId, body: string | Buffer): string | null =>
      typeof body === 'string' && isOfJob(body) ? sealer.seal(body, callId) : null,

    /** Seals a body. Returns the part for the job: null if it is stored beside it. Rejects while PostgreSQL is away. */
    async put(callId: CallId, body: string | Buffer): Promise<CallJob['sealedBody']> {
      if (isOfJob(body)) return sealer.sealBytes(body, callId)
      // Each step takes tens of milliseconds for the longest body; other work runs in between.
      await nextTurn()
      const sealed = await sealer.sealLater(body, callId)
      await pool.query(PUT, [callId, sealed])
      return null
    },

    /** The body of a job; null if it was stored beside the queue and is gone. Rejects while PostgreSQL is away. */
    async read(callId: CallId, sealedBody: CallJob['sealedBody']): Promise<string | Buffer | null> {
      if (typeof sealedBody === 'string') return sealer.open(sealedBody, callId)
      if (sealedBody !== null && sealedBody.length <= TEXT_BYTES_MAX)
        return sealer.openBytes(sealedBody, callId)
      const sealed = sealedBody ?? (await readSlices(pool, callId))
      return sealed === null ? null : sealer.openLater(sealed, callId)
    },

    /** Deletes a body that was stored beside the queue, if it was. */
    async drop(callId: CallId) {
      await pool.query(DROP, [callId])
    },

    close: () => pool.close(),
  }
}

async function readSlices(pool: PostgresPool, callId: CallId): Promise<Buffer | null> {
  const slices: Buffer[] = []
  for (let from = 1; ; from += SLICE_BYTES) {
    const [row] = await pool.query<{ slice: string }>(READ, [callId, from, SLICE_BYTES])
    if (!row) return null
    const slice = Buffer.from(row.slice, 'base64')
    slices.push(slice)
    if (slice.length < SLICE_BYTES) return Buffer.concat(slices)
  }
}

/** Deletes bodies whose call ended without deleting them. `olderThanMs` exceeds the lifetime of any call. */
export async function sweepCallBodies(postgres: Postgres, olderThanMs: number): Promise<void> {
  await postgres.$executeRaw`DELETE FROM call_bodies WHERE created_at < now() - ${olderThanMs} * interval '1 millisecond'`
}

/** The bodies of the running calls of one worker. */
export interface HeldBodies extends Pick<CallBodies, 'read' | 'drop'> {
  /** The call has ended here, so its body is released. Idempotent. */
  release(callId: CallId): void
}

interface HeldBodiesLimits {
  /** Maximum bytes of bodies from beside the queue that this worker holds. */
  workerBodyBytes: number
  /** Maximum length of a body. */
  bodyLimitBytes: number
}

/** Maximum wait of a call for space. */
const WAIT_MS = 10_000

/**
 * Limits the bytes of bodies that a worker holds. Bodies inside jobs are small and limited by the number of calls; one
 * beside the queue is read only once there is space for the longest. Reading rejects if there is none in time.
 */
export function createHeldBodies(
  bodies: Pick<CallBodies, 'read' | 'drop'>,
  { workerBodyBytes, bodyLimitBytes }: HeldBodiesLimits,
  waitMs = WAIT_MS,
): HeldBodies {
  const held = new Map<CallId, number>()
  /** In order of arrival. */
  const waiting: Array<() => void> = []
  let sum = 0
  const hasRoom = () => sum + bodyLimitBytes <= workerBodyBytes
  const set = (callId: CallId, bytes: number) => {
    sum += bytes - (held.get(callId) ?? 0)
    if (bytes === 0) held.delete(callId)
    else held.set(callId, bytes)
    while (hasRoom() && waiting.length > 0) waiting.shift()!()
  }
  const takeRoom = (callId: CallId): Promise<void> | undefined => {
    const take = () => set(callId, bodyLimitBytes)
    if (hasRoom()) return void take()
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer)
        take()
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(turn), 1)
        reject(new Error(`no space for the body of a call within ${waitMs} ms`))
      }, waitMs)
      waiting.push(turn)
    })
  }
  return {
    async read(callId, sealedBody) {
      // One of its job is here already.
      if (sealedBody === null) await takeRoom(callId)
      else if (sealedBody.length > TEXT_BYTES_MAX) set(callId, sealedBody.length)
      const body = await bodies.read(callId, sealedBody)
      if (held.has(callId)) set(callId, body?.length ?? 0)
      return body
    },
    drop: (callId) => bodies.drop(callId),
    release: (callId) => set(callId, 0),
  }
}
