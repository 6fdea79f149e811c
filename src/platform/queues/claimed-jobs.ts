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

export interface AwaitedJob<Data> {
  /** Null: none came. */
  job: ClaimedJob<Data> | null
  /** Others wait besides. */
  isMore: boolean
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
  /**
   * Waits so, and claims the job that comes, in one round trip, where `wait` and `claim` are two. Only one: Redis also
   * claims for a worker that hangs by then.
   */
  waitAndClaim(): Promise<AwaitedJob<Data>>
  /** Completes jobs, which leave the queue. Returns those whose lock another has, or nobody: they stay. */
  complete(ids: readonly string[]): Promise<string[]>
  /** Puts a job back into the queue. */
  handBack(id: string): Promise<void>
  /** Renews locks; returns the jobs whose lock another has, or nobody. */
  extendLocks(ids: readonly string[]): Promise<string[]>
  /** Ends a wait under way early, if Redis answers; what `waitAndClaim` claims then is heard of. */
  wake(): void
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
  const [claimNow, claimAfterWait] = [redis, blocking].map((client) =>
    defineScript(client, 'syClaimJobs', CLAIM),
  )
  const completeScript = defineScript(redis, 'syCompleteJobs', COMPLETE)
  const keys = [`${QUEUE_PREFIX}:${queue}`]
  const waitForMarker = () => blocking.bzpopmin(`${QUEUE_PREFIX}:${queue}:marker`, waitSeconds)
  let blockingId: number | null = null
  const identify = async () => {
    // A client that is closed before it connected has nothing to unblock.
    blockingId = await blocking.client('ID').catch(() => null)
  }
  blocking.on('ready', identify)
  if (blocking.status === 'ready') void identify()

  type Claimed = Array<[id: string, data: string, attemptsStarted: number] | 'more'>
  async function readClaim(claimed: unknown): Promise<Array<ClaimedJob<Data>>> {
    if (claimed !== 'due') {
      return (claimed as Claimed).flatMap((one) => {
        if (one === 'more') return []
        const [id, data, attemptsStarted] = one
        return { id, data: JSON.parse(data) as Data, attemptsStarted }
      })
    }
    // BullMQ's own claim moves delayed jobs that are due.
    const { id, data, attemptsStarted } = (await worker.getNextJob(token, { block: false })) ?? {}
    return id !== undefined && data ? [{ id, data, attemptsStarted: attemptsStarted! }] : []
  }

  return {
    token,
    async start() {
      await worker.waitUntilReady()
      await worker.startStalledCheckTimer()
    },
    claim: async (most, kind = 'any') =>
      readClaim(await claimNow!(keys, [token, lockMs, clock(), most, kind])),
    wait: async () => void (await waitForMarker()),
    async waitAndClaim() {
      // Sent at once: Redis runs the second when the first is over.
      const [, claimed] = await Promise.all([
        waitForMarker(),
        claimAfterWait!(keys, [token, lockMs, '', 1, 'any']),
      ])
      const [job = null] = await readClaim(claimed)
      return { job, isMore: claimed === 'due' || (claimed as Claimed).at(-1) === 'more' }
    },
    complete: async (ids) => (await completeScript(keys, [token, ...ids])) as string[],
    // A job as its worker knows it: whatever Redis has of it.
    handBack: async (id) => void (await new Job(worker, queue, {} as Data, {}, id).moveToWait(token)),
    extendLocks: (ids) =>
      worker.extendJobLocks(
        [...ids],
        ids.map(() => token),
        lockMs,
      ),
    wake() {
      if (blockingId !== null) redis.client('UNBLOCK', blockingId).catch(() => undefined)
    },
    stopWaiting: () => blocking.disconnect(),
    async close() {
      blocking.disconnect()
      await worker.close(true)
    },
  }
}
