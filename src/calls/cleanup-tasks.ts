import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../platform/observability/logger.ts'

/** Cleanup of a call whose client has its response. Must be repeatable. */
export type CleanupTask = () => Promise<unknown>

const WAITING_MAX = 20_000
const AT_ONCE = 50
const RETRY_MS = 100

/** Runs cleanup tasks at once, and retries failed ones until they succeed. */
export type CleanupTasks = ReturnType<typeof createCleanupTasks>

/**
 * Cleanup of calls whose clients have their response: releases and withdrawals that failed because of Redis, bodies
 * that PostgreSQL did not delete. Bounded: maintenance finds the tasks that do not fit or that remain when the process
 * ends.
 */
export function createCleanupTasks(logger: Logger) {
  const waiting: CleanupTask[] = []
  let running = false

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE)
      const results = await Promise.allSettled(some.map((task) => task()))
      const failed = some.filter((_, index) => results[index]?.status === 'rejected')
      if (failed.length === 0) continue
      waiting.push(...failed)
      // Waiting must not keep an otherwise idle process alive.
      await delay(RETRY_MS, undefined, { ref: false })
    }
    running = false
  }

  return {
    add(task: CleanupTask) {
      if (waiting.length >= WAITING_MAX) {
        logger.error('cleanup queue full, leaving the rest to maintenance')
        return
      }
      waiting.push(task)
      if (running) return
      running = true
      void run()
    },
  }
}
