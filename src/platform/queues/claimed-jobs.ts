import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Job, Worker } from 'bullmq'
import type { Logger } from '../observability/logger.ts'
import { defineScript, type Redis } from '../redis/redis.ts'
import { QUEUE_PREFIX } from '../redis/redis-keys.ts'

/** A job that a worker claimed. */
export interface ClaimedJob<Data> {
  id: string
  data: Data
  /** How often it was claimed, with this claim. */
  attemptsStarted: number
}

/** `within-share`: only jobs without a priority (see src/billing/holds/admission.ts). */
export type ClaimKind = 'any' | 'within-share'

/** A queue as a worker sees it that claims many jobs at once. */
export interface ClaimedJobs<Data> {
  /** What the locks of this worker hold. */
  readonly token: string
  /** Begins to look for jobs whose worker died. */
  start(): Promise<void>
  /** Claims jobs that wait; fewer than `most` when no more do. */
  claim(most: number, kind?: ClaimKind): Promise<Array<ClaimedJob<Data>>>
  /** Resolves when a job may have come, or after a while. */
  wait(): Promise<void>
  /** Completes jobs, which leave the queue. Returns those whose lock another has, or nobody: they stay. */
  complete(ids: readonly string[]): Promise<string[]>
  /** Puts a job back into the queue. */
  handBack(id: string): Promise<void>
  /** Renews locks; returns the jobs whose lock another has, or nobody. */
  extendLocks(ids: readonly string[]): Promise<string[]>
  /** Ends a `wait`, with a rejection; no other may begin. */
  stopWaiting(): void
  close(): Promise<void>
}

export interface ClaimedJobsOptions {
  /** A client in mode `wait`. */
  redis: Redis
  /** A client of its own, in mode `wait`: it blocks. */
  blocking: Redis
  /** How long a claim stands without renewal. */
  lockMs: number
  /** How long a `wait` lasts at the most: a worker that hangs may have swallowed the wake-up. */
  waitSeconds: number
  logger: Logger
  clock: () => number
  /** Absent: a random one. */
  token?: string
}

/** A stalled job is never failed by BullMQ: its worker counts claims. */
const NEVER = Number.MAX_SAFE_INTEGER

const CLAIM = readFileSync(new URL('./claim-jobs.lua', import.meta.url), 'utf8')
const COMPLETE = readFileSync(new URL('./complete-jobs.lua', import.meta.url), 'utf8')

/**
 * The queue over BullMQ, which keeps locks, stalled jobs and delayed ones; jobs are claimed and completed by scripts
 * of ours, many at once.
 */
export function openClaimedJobs<Data>(queue: string, options: ClaimedJobsOptions): ClaimedJobs<Data> {
  const { redis, blocking, lockMs, waitSeconds, logger, clock, token = randomUUID() } = options
  const worker = new Worker<Data>(queue, null, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    maxStalledCount: NEVER,
  })
  worker.on('error', (error) => logger.warn({ err: error, queue }, 'queue error'))
  worker.on('stalled', (jobId) => logger.warn({ queue, jobId }, 'job lost its worker; back in the queue'))
  const claimScript = defineScript(redis, 'syClaimJobs', CLAIM)
  const completeScript = defineScript(redis, 'syCompleteJobs', COMPLETE)
  const keys = [`${QUEUE_PREFIX}:${queue}`]

  return {
    token,
    async start() {
      await worker.waitUntilReady()
      await worker.startStalledCheckTimer()
    },
    async claim(most, kind = 'any') {
      const claimed = await claimScript(keys, [token, lockMs, clock(), most, kind])
      if (claimed !== 'due') {
        return (claimed as Array<[id: string, data: string, attemptsStarted: number]>).map(
          ([id, data, attemptsStarted]) => ({ id, data: JSON.parse(data) as Data, attemptsStarted }),
        )
      }
      // BullMQ's own claim moves delayed jobs that are due.
      const { id, data, attemptsStarted } = (await worker.getNextJob(token, { block: false })) ?? {}
      return id !== undefined && data ? [{ id, data, attemptsStarted: attemptsStarted! }] : []
    },
    wait: async () => void (await blocking.bzpopmin(`${QUEUE_PREFIX}:${queue}:marker`, waitSeconds)),
    complete: async (ids) => (await completeScript(keys, [token, ...ids])) as string[],
    // A job as its worker knows it: whatever Redis has of it.
    handBack: async (id) => void (await new Job(worker, queue, {} as Data, {}, id).moveToWait(token)),
    extendLocks: (ids) =>
      worker.extendJobLocks(
        [...ids],
        ids.map(() => token),
        lockMs,
      ),
    stopWaiting: () => blocking.disconnect(),
    async close() {
      blocking.disconnect()
      await worker.close(true)
    },
  }
}
