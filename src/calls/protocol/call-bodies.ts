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
  /** A longer body waits in PostgreSQL. */
  largeBodyBytes: number
  logger: Logger
}

/** Apart from the other pools: large values keep nobody else waiting, and are not waited for long. */
const POOL = { poolSize: 4, connectTimeoutMs: 1_500, statementTimeoutMs: 8_000 }

const PUT = 'INSERT INTO call_bodies (call_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING'
/** pg reads bytes as hexadecimal text, so what is long is read by slices. */
const READ = 'SELECT substring(sealed FROM $2 FOR $3) AS slice FROM call_bodies WHERE call_id = $1'
const SLICE_BYTES = 4 * 1024 * 1024
const DROP = 'DELETE FROM call_bodies WHERE call_id = $1'

/**
 * Where the text of a call waits for its worker: sealed in its job, or, where it is long, beside the queue in
 * PostgreSQL, so that Redis holds and writes down no large values. Gone when the call has ended.
 */
export type CallBodies = ReturnType<typeof createCallBodies>

export function createCallBodies(options: CallBodiesOptions) {
  const { sealer, largeBodyBytes } = options
  const pool = createPostgresPool({ ...options, ...POOL })
  const seal = (callId: CallId, body: string): string | null =>
    body.length <= largeBodyBytes ? sealer.seal(body, callId) : null
  return {
    /** Seals a body for its job; null where it is to be kept beside it. */
    seal,
    /** Seals a body. Returns what goes into the job: null where it is kept beside it. Rejects while PostgreSQL is away. */
    async put(callId: CallId, body: string) {
      const sealedBody = seal(callId, body)
      if (sealedBody !== null) return sealedBody
      // Each step takes tens of milliseconds for the longest body; others have their turn between.
      await nextTurn()
      const sealed = sealer.sealBytes(body, callId)
      await nextTurn()
      await pool.query(PUT, [callId, sealed])
      return null
    },

    /** The body of a job; null where it was kept and is gone. Rejects while PostgreSQL is away. */
    async read(callId: CallId, sealedBody: CallJob['sealedBody']) {
      if (sealedBody !== null) return sealer.open(sealedBody, callId)
      const sealed = await readSlices(pool, callId)
      return sealed && sealer.openBytes(sealed, callId)
    },

    /** Deletes a body that was kept beside the queue, if it was. */
    async drop(callId: CallId) {
      await pool.query(DROP, [callId])
    },

    close: () => pool.close(),
  }
}

async function readSlices(pool: PostgresPool, callId: CallId): Promise<Buffer | null> {
  const slices: Buffer[] = []
  for (let from = 1; ; from += SLICE_BYTES) {
    const [row] = await pool.query<{ slice: Buffer }>(READ, [callId, from, SLICE_BYTES])
    if (!row) return null
    slices.push(row.slice)
    if (row.slice.length < SLICE_BYTES) return Buffer.concat(slices)
  }
}

/** Deletes what calls left behind that ended without anybody to see it. `olderThanMs`: no call lives so long. */
export async function sweepCallBodies(postgres: Postgres, olderThanMs: number): Promise<void> {
  await postgres.$executeRaw`DELETE FROM call_bodies WHERE created_at < now() - ${olderThanMs} * interval '1 millisecond'`
}

/** The bodies of the calls that one worker runs. */
export interface HeldBodies extends Pick<CallBodies, 'read' | 'drop'> {
  /** The call has ended here, however: its body is held no more. Idempotent. */
  release(callId: CallId): void
}

interface HeldBodiesLimits {
  /** Bytes of bodies kept beside the queue that this worker holds at the most. */
  workerBodyBytes: number
  /** The longest a body may be. */
  bodyLimitBytes: number
}

/** How long a call waits for room. */
const WAIT_MS = 10_000

/**
 * Bounds the bytes of bodies that a worker holds. Those in their jobs are small and bounded by the number of calls; one
 * that waits beside the queue is read only once there is room for the longest. Reading rejects when none comes in time.
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
        reject(new Error(`no room for the body of a call within ${waitMs} ms`))
      }, waitMs)
      waiting.push(turn)
    })
  }
  return {
    async read(callId, sealedBody) {
      if (sealedBody !== null) return bodies.read(callId, sealedBody)
      await takeRoom(callId)
      const text = await bodies.read(callId, sealedBody)
      set(callId, text?.length ?? 0)
      return text
    },
    drop: (callId) => bodies.drop(callId),
    release: (callId) => set(callId, 0),
  }
}
