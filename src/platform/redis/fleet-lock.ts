import { randomUUID } from 'node:crypto'
import type { Redis } from './redis.ts'
import { lockKey } from './redis-keys.ts'

const LOCK_MS = 60_000

/** Renews or releases a lock if it is still ours. KEYS 1 lock; ARGV 1 token, 2 ms, or 0 to release; returns 1 if it was. */
const KEEP = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`

/**
 * Does a job in one process of the fleet at a time, however long it takes; null when another is at it. The lock
 * outlives a process that died by a minute. Rejects as the job does, and when Redis is away.
 */
export async function inOneProcess<T>(
  redis: Redis,
  job: string,
  work: () => Promise<T>,
): Promise<{ result: T } | null> {
  const lock = lockKey(job)
  const token = randomUUID()
  if ((await redis.set(lock, token, 'PX', LOCK_MS, 'NX')) === null) return null
  const keep = (ms: number) => redis.eval(KEEP, 1, lock, token, ms)
  // A renewal that fails is made up for by the next two.
  const renewal = setInterval(() => void keep(LOCK_MS).catch(() => undefined), LOCK_MS / 3)
  try {
    return { result: await work() }
  } finally {
    clearInterval(renewal)
    await keep(0)
  }
}

/** Whether a process does the job right now. */
export const isInOneProcess = async (redis: Redis, job: string): Promise<boolean> =>
  (await redis.exists(lockKey(job))) === 1
