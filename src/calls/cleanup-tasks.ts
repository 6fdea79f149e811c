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

interface WatchedTasks {
  tasks: CleanupTask[]
  /** The durability token when they were done. */
  token: string
}

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
  let batch: WatchedTasks | null = null

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE)
      const token = epoch?.lastToken()
      const results = await Promise.allSettled(some.map((task) => task()))
      const failed = some.filter((_, index) => results[index]?.status === 'rejected')
      const done = some.filter((task) => !failed.includes(task))
      if (token !== undefined && done.length > 0) watch(done, token)
      if (failed.length === 0) continue
      waiting.push(...failed)
      // Waiting must not keep an otherwise idle process alive.
      await delay(RETRY_MS, undefined, { ref: false })
    }
    running = false
  }

  /** Adds tasks later if writes to Redis at the time of the token may be lost. One look serves those of a quarter second. */
  const watch = (tasks: CleanupTask[], token: string): void => {
    if (isFull()) return
    undurable += tasks.length
    if (batch?.token === token) batch.tasks.push(...tasks)
    else {
      batch = { tasks, token }
      void lookLater(batch)
    }
  }

  const lookLater = async (watched: WatchedTasks): Promise<void> => {
    await delay(durableMs / 10, undefined, { ref: false })
    if (batch === watched) batch = null
    await delay(durableMs, undefined, { ref: false })
    const isLost = await epoch!.durabilityToken().then(
      (now) => now !== watched.token,
      () => true,
    )
    undurable -= watched.tasks.length
    if (isLost) for (const task of watched.tasks) add(task)
  }

  const isFull = (): boolean => {
    if (waiting.length + undurable < WAITING_MAX) return false
    logger.error('cleanup queue full, leaving the rest to maintenance')
    return true
  }

  const add = (task: CleanupTask): void => {
    if (isFull()) return
    waiting.push(task)
    if (running) return
    running = true
    void run()
  }

  return {
    add,
    /** Adds a task in 2.5 seconds, only if the writes of now to Redis may be lost by then. */
    addIfLost(task: CleanupTask): void {
      if (epoch) watch([task], epoch.lastToken())
    },
  }
}
