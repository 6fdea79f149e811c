import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from './redis.ts'
import { lockKey } from './redis-keys.ts'

/** A job that one process of the fleet runs at a time. */
export interface FleetJobOptions {
  redis: Redis
  /** Names its lock. */
  name: string
  /** From the end of a run, or from finding that none is due, to the next look. */
  everyMs: number
  /** Until the first look. Absent: it comes at once. */
  firstAfterMs?: number
  /** Asked before the lock is taken, and again under it. Absent: it always is. */
  isDue?: () => Promise<boolean>
  /** The signal aborts when the process stops. */
  run: (stopping: AbortSignal) => Promise<void>
  /** Called for the first failure in a row. */
  onFailure: (error: unknown) => void
  /** How long a run that is under way is waited for on `stop`. Absent: to its end. */
  stopWithinMs?: number
}

const LOCK_MS = 60_000

/** Renews or releases a lock if it is still ours. KEYS 1 lock; ARGV 1 token, 2 ms, or 0 to release; returns 1 if it was. */
const KEEP = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`

export type FleetJob = ReturnType<typeof runOnOneProcess>

/** Runs a job repeatedly, in one process of the fleet at a time, however long a run takes. */
export function runOnOneProcess(options: FleetJobOptions) {
  const { redis, name, everyMs, firstAfterMs = 0, isDue = async () => true, run, stopWithinMs } = options
  const stopping = new AbortController()
  const look = async () => {
    if (!(await isDue())) return
    await withLock(redis, name, async () => {
      if (await isDue()) await run(stopping.signal)
    })
  }
  const stopPolling = pollEvery(everyMs, look, options.onFailure, { firstAfterMs })
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

/** Does nothing when another process has the lock, which outlives a process that died by a minute. */
async function withLock(redis: Redis, name: string, work: () => Promise<void>): Promise<void> {
  const lock = lockKey(name)
  const token = randomUUID()
  if ((await redis.set(lock, token, 'PX', LOCK_MS, 'NX')) === null) return
  const keep = (ms: number) => redis.eval(KEEP, 1, lock, token, ms)
  // A renewal that fails is made up for by the next two.
  const renewal = setInterval(() => void keep(LOCK_MS).catch(() => undefined), LOCK_MS / 3)
  try {
    await work()
  } finally {
    clearInterval(renewal)
    await keep(0)
  }
}
