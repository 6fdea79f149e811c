import { StartError } from '../../core/kernel/errors.ts'
import type { Redis } from './redis.ts'

/** The names of versions without shards. */
const PROCESSES = 'sy:{ops}:processes'
const LISTS = [
  ...['dispatch:wait', 'dispatch:active', 'dispatch:prioritized', 'dispatch:delayed'],
  ...['settlement:wait', 'settlement:active', 'settlement:delayed', 'mail:wait', 'mail:active'],
].map((list) => `{sy:queues}:${list}`)

/** A process reports every second. */
const RUNNING_MS = 10_000

/**
 * Versions without shards named their keys differently. They share no balance cache and no queue with this version: an
 * account could spend its balance in both, and a finished call of theirs would not be charged. Throws while such a
 * process runs, or while calls wait under the former names. What else they left is no longer read.
 */
export async function refuseFormerKeys(redis: Redis): Promise<void> {
  // That version did not start in a cluster.
  if (redis.isInCluster) return
  const [seconds] = await redis.time()
  const running = await redis.zcount(PROCESSES, Number(seconds) * 1_000 - RUNNING_MS, '+inf')
  if (running > 0)
    throw new StartError(
      `${running} processes of a version without shards use this Redis: stop all of them before this one starts`,
    )
  const waiting = await redis.exists(...LISTS)
  if (waiting > 0)
    throw new StartError(
      'Redis has calls or messages of a version without shards: let the workers of that version finish them',
    )
}
