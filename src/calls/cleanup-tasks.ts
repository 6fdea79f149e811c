import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../platform/observability/logger.ts'

/** What is still to be done about a call that was answered already. Must be repeatable. */
export type CleanupTask = () => Promise<unknown>

const WAITING_MAX = 20_000
const AT_ONCE = 50
const RETRY_MS = 100

/** Runs cleanup tasks at once, and those that fail again until they succeed. */
export type CleanupTasks = ReturnType<typeof createCleanupTasks>

/**
 * What calls still owe whose clients were answered: releases and withdrawals that Redis went away under, bodies that
 * PostgreSQL did not delete. Bounded: what does not fit, and what is left when the process ends, maintenance finds.
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
      // Waiting must not keep a process alive that has nothing else to do.
      await delay(RETRY_MS, undefined, { ref: false })
    }
    running = false
  }

  return {
    add(task: CleanupTask) {
      if (waiting.length >= WAITING_MAX) {
        logger.error('too many calls wait to be cleaned up after; maintenance will find what they left')
        return
      }
      waiting.push(task)
      if (running) return
      running = true
      void run()
    },
  }
}
