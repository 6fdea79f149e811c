import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from './redis.ts'
import { lockKey } from './redis-keys.ts'

/** A job that runs repeatedly, never twice at once in one process. */
export interface Job {
  /** Names it in logs, and its lock where one process of the fleet runs it. */
  name: string
  /** From the end of a run, or of a check that found none due, to the next check. */
  everyMs: number
  /** Delay of the first check. Absent: none. */
  firstAfterMs?: number
  /** Evaluated before the lock is taken, and again with the lock. Absent: always due. */
  isDue?: () => Promise<boolean>
  /** The signal aborts when the process stops, or another process may run the job because its lock was lost. */
  run: (stopping: AbortSignal) => Promise<unknown>
  /** How long `stop` waits for the current run. Absent: until it ends. */
  stopWithinMs?: number
}

interface FleetJob extends Job {
  redis: Redis
  /** The shard that it is for, which has its locks. Absent: it is for the fleet. */
  shard?: number
  onFailure: OnFailure
  /** How many processes of the fleet run it at a time. */
  processes: number
  /** How long its lock survives a process that dies. Absent: a minute. */
  lockMs?: number
  /**
   * How long a process whose run rejected leaves the locks to others, which may be able to do the work. For runs that last:
   * longer than `everyMs`, so that all others have looked by then. Absent: not at all.
   */
  standsBackMs?: number
}

const LOCK_MS = 60_000

/**
 * Renews or releases a lock of this process. One that is gone is taken again: Redis lost it, or the clock of the server that
 * took over is ahead. KEYS 1 lock; ARGV 1 token, 2 ms, or 0 to release; returns 1 if held.
 */
const KEEP = `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

const NEVER_LOST = new AbortController().signal

/** Called for the first of consecutive failures. */
type OnFailure = (error: unknown) => void

/** Runs a job repeatedly, in one process of the fleet at a time, however long a run takes. */
export const runOnOneProcess = (job: Omit<FleetJob, 'processes'>) =>
  runOnFewProcesses({ ...job, processes: 1 })

/**
 * Runs a job repeatedly, in a few processes of the fleet at a time. An elected process must be able to do the work: a run that
 * cannot rejects, which releases its lock, instead of trying on under it.
 */
export function runOnFewProcesses(job: FleetJob) {
  let standsBackUntil = 0
  return runRepeatedly(job, job.onFailure, async (work) => {
    if (performance.now() < standsBackUntil) return
    try {
      await withLock(job, work)
    } catch (error) {
      standsBackUntil = performance.now() + (job.standsBackMs ?? 0)
      throw error
    }
  })
}

/** Runs a job repeatedly in this process, whatever others do. */
export const runOnEveryProcess = (job: Job & { onFailure: OnFailure }) =>
  runRepeatedly(job, job.onFailure, (work) => work(NEVER_LOST))

function runRepeatedly(
  { everyMs, firstAfterMs = 0, isDue = async () => true, run, stopWithinMs }: Job,
  onFailure: OnFailure,
  exclusively: (work: (lost: AbortSignal) => Promise<void>) => Promise<void>,
) {
  const stopping = new AbortController()
  const look = async () => {
    if (!(await isDue())) return
    await exclusively(async (lost) => {
      const over = AbortSignal.any([stopping.signal, lost])
      // A run that began after its end would wait for it forever.
      if ((await isDue()) && !over.aborted) await run(over)
    })
  }
  const stopPolling = pollEvery(everyMs, look, onFailure, { firstAfterMs })
  return {
    async stop() {
      stopping.abort()
      const stopped = stopPolling()
      await (stopWithinMs === undefined
        ? stopped
        : Promise.race([stopped, delay(stopWithinMs, undefined, { ref: false })]))
    },
  }
}

/** Whether a process runs the job right now. */
export const isRunning = async (redis: Redis, name: string): Promise<boolean> =>
  (await redis.exists(lockKey(name))) === 1

/** Does nothing if other processes have all locks of the job. */
async function withLock(
  { redis: connection, shard = 0, name, processes, lockMs = LOCK_MS }: FleetJob,
  work: (lost: AbortSignal) => Promise<void>,
): Promise<void> {
  const redis = connection.shard(shard)
  const token = randomUUID()
  const lock = await takeLock(
    redis,
    Array.from({ length: processes }, (_, index) => lockKey(index === 0 ? name : `${name}-${index}`, shard)),
    { token, lockMs },
  )
  if (lock === null) return
  const lost = new AbortController()
  const keep = async (ms: number) => {
    if (Number(await redis.eval(KEEP, 1, lock, token, ms)) === 0) lost.abort()
  }
  // Two further renewals follow before the lock expires, so one failure is ignored.
  const renewal = setInterval(() => void keep(lockMs).catch(() => undefined), lockMs / 3)
  try {
    await work(lost.signal)
  } finally {
    clearInterval(renewal)
    await keep(0)
  }
}

/** Takes the first free lock; null if none is. */
async function takeLock(
  redis: Redis,
  locks: readonly string[],
  { token, lockMs }: { token: string; lockMs: number },
): Promise<string | null> {
  for (const lock of locks) if ((await redis.set(lock, token, 'PX', lockMs, 'NX')) !== null) return lock
  return null
}
