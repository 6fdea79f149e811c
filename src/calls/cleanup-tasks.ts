import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../platform/observability/logger.ts'
import type { EpochWatch } from '../platform/redis/redis-epoch.ts'

/** Cleanup of a call whose client has its response. Must be repeatable. */
export type CleanupTask = () => Promise<unknown>

const WAITING_MAX = 20_000
const AT_ONCE = 50
const RETRY_MS = 100
/** Redis has written to disk by then what it has accepted, as it does so every second. */
const DURABLE_MS = 2_500

/** Runs cleanup tasks at once, and retries failed ones until they succeed. */
export type CleanupTasks = ReturnType<typeof createCleanupTasks>

/**
 * Cleanup of calls whose clients have their response: releases and withdrawals that failed because of Redis, bodies
 * that PostgreSQL did not delete. Bounded: maintenance finds the tasks that do not fit or that remain when the process
 * ends.
 * @param epoch repeats tasks whose writes to Redis may be lost, because it was away soon afterwards
 */
export function createCleanupTasks(
  logger: Logger,
  epoch?: Pick<EpochWatch, 'lastToken' | 'durabilityToken'>,
  durableMs = DURABLE_MS,
) {
  const waiting: CleanupTask[] = []
  let running = false
  let undurable = 0

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE)
      const token = epoch?.lastToken()
      const results = await Promise.allSettled(some.map((task) => task()))
      const failed = some.filter((_, index) => results[index]?.status === 'rejected')
      const done = some.filter((task) => !failed.includes(task))
      if (token !== undefined && done.length > 0) void repeatIfLost(done, token)
      if (failed.length === 0) continue
      waiting.push(...failed)
      // Waiting must not keep an otherwise idle process alive.
      await delay(RETRY_MS, undefined, { ref: false })
    }
    running = false
  }

  const repeatIfLost = async (done: CleanupTask[], token: string): Promise<void> => {
    undurable += done.length
    await delay(durableMs, undefined, { ref: false })
    const isLost = await epoch!.durabilityToken().then(
      (now) => now !== token,
      () => true,
    )
    undurable -= done.length
    if (isLost) for (const task of done) add(task)
  }

  const add = (task: CleanupTask): void => {
    if (waiting.length + undurable >= WAITING_MAX) {
      logger.error('cleanup queue full, leaving the rest to maintenance')
      return
    }
    waiting.push(task)
    if (running) return
    running = true
    void run()
  }

  return { add }
}
