import { randomUUID } from 'node:crypto'
import { Job, Worker } from 'bullmq'
import { LANE_STEPS } from '../../core/calls/fair-queue.ts'
import type { Logger } from '../observability/logger.ts'
import { readScript } from '../redis/read-script.ts'
import { defineScript, type Redis } from '../redis/redis.ts'
import { queuePrefix } from '../redis/redis-keys.ts'

/** A job that this worker claimed. */
export interface ClaimedJob<Data> {
  id: string
  data: Data
  /** The bytes of its field `body`. Absent: it has none. */
  body?: Buffer
  /** The number of claims of this job, including this one. */
  attemptsStarted: number
  /** How often its lock ran out at a worker that died or stood still, and it went back to the queue. */
  stalls: number
}

export interface AwaitedJob<Data> {
  /** Null if no job arrived. */
  job: ClaimedJob<Data> | null
  /** Further jobs wait. */
  isMore: boolean
}

interface AwaitedJobs<Data> extends Pick<AwaitedJob<Data>, 'isMore'> {
  jobs: Array<ClaimedJob<Data>>
}

/** `default`: no jobs of the lane `flex`. `within-share`: only jobs without a priority (see src/core/calls/fair-queue.ts). */
export type ClaimKind = 'any' | 'default' | 'within-share'

/** BullMQ's scores begin with the priority. */
const SCORES_PER_PRIORITY = 2 ** 32
/** The highest score of jobs with a priority that are claimed. */
const HIGHEST: Record<ClaimKind, string> = {
  any: '+inf',
  default: `(${LANE_STEPS * SCORES_PER_PRIORITY}`,
  'within-share': '-inf',
}

/** A queue for a worker that claims many jobs at once. */
export interface ClaimedJobs<Data> {
  /** The token in the locks of this worker; of a dispatch worker it is its id, so that a claimed call names its worker. */
  readonly token: string
  /** Starts looking for jobs of dead workers. */
  start(): Promise<void>
  /** Claims waiting jobs, at most `most`. */
  claim(most: number, kind?: ClaimKind): Promise<Array<ClaimedJob<Data>>>
  /** Resolves when a job may have arrived, or after `waitSeconds`. */
  wait(): Promise<void>
  /**
   * Waits and claims the arriving job in one round trip, where `wait` and `claim` take two. It claims one job only,
   * because Redis claims it even if this worker hangs by then.
   */
  waitAndClaim(): Promise<AwaitedJob<Data>>
  /** Completes jobs, which leave the queue. Returns those whose lock this worker does not hold; they stay. */
  complete(ids: readonly string[]): Promise<string[]>
  handBack(id: string): Promise<void>
  /** Renews locks. Returns the jobs whose lock this worker does not hold. */
  extendLocks(ids: readonly string[]): Promise<string[]>
  /** Ends a wait early if Redis responds. The job that `waitAndClaim` claims then is still returned. */
  wake(): void
  /** Rejects the current `wait`; no other may follow. */
  stopWaiting(): void
  close(): Promise<void>
}

export interface ClaimedJobsOptions {
  /** A client in mode `wait`. */
  redis: Redis
  /** A separate client in mode `wait`, for the blocking read. */
  blocking: Redis
  /** Lifetime of a claim without renewal. */
  lockMs: number
  /** Maximum duration of a `wait`: a hanging worker may have consumed the wake-up. `waitAndClaim` is also bounded by half a claim. */
  waitSeconds: number
  logger: Logger
  clock: () => number
  /** The shard of the queue. Absent: the first. */
  shard?: number
  /** Absent: a random token. */
  token?: string
}

/** BullMQ never fails a stalled job; its worker counts the claims. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Lua accepts some thousands of arguments. */
const COMPLETED_AT_ONCE = 1_000

const CLAIM = readScript(import.meta.url, './claim-jobs.lua')
const COMPLETE = readScript(import.meta.url, './complete-jobs.lua')

/**
 * Opens the queue. BullMQ handles locks and stalled jobs; our scripts claim and complete jobs, many at once.
 */
export function openClaimedJobs<Data>(queue: string, options: ClaimedJobsOptions): ClaimedJobs<Data> {
  const { lockMs, waitSeconds, logger, clock, token = randomUUID(), shard = 0 } = options
  const [redis, blocking] = [options.redis.shard(shard), options.blocking.shard(shard)]
  const worker = new Worker<Data>(queue, null, {
    connection: redis,
    prefix: queuePrefix(shard),
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    maxStalledCount: NEVER,
  })
  worker.on('error', (error) => logger.warn({ err: error, queue }, 'queue error'))
  worker.on('stalled', (jobId) => logger.warn({ queue, jobId }, 'stalled job returned to the queue'))
  const [claimNow, claimAfterWait] = [redis, blocking].map((client) =>
    defineScript(client, 'syClaimJobs', CLAIM, 'bytes'),
  )
  const completeScript = defineScript(redis, 'syCompleteJobs', COMPLETE)
  const keys = [`${queuePrefix(shard)}:${queue}`]
  const waitForMarker = (seconds = waitSeconds) =>
    blocking.bzpopmin(`${queuePrefix(shard)}:${queue}:marker`, seconds)
  let blockingId: number | null = null
  const identify = async () => {
    // A client that is closed before it connected has nothing to unblock.
    blockingId = await blocking.client('ID').catch(() => null)
  }
  blocking.on('ready', identify)
  if (blocking.status === 'ready') void identify()

  type Claimed = Array<
    [id: Buffer, data: Buffer, attemptsStarted: number, stalls: number, body: Buffer | null]
  >
  function readClaim(claimed: unknown): AwaitedJobs<Data> {
    const jobs = (claimed as Claimed).filter((one) => Array.isArray(one))
    return {
      jobs: jobs.map(([id, data, attemptsStarted, stalls, body]) => ({
        id: id.toString(),
        data: JSON.parse(data.toString()) as Data,
        ...{ attemptsStarted, stalls, ...(body && { body }) },
      })),
      // The last entry says so.
      isMore: jobs.length < (claimed as Claimed).length,
    }
  }

  return {
    token,
    async start() {
      await worker.waitUntilReady()
      await worker.startStalledCheckTimer()
    },
    claim: async (most, kind = 'any') =>
      readClaim(await claimNow!(keys, [token, lockMs, clock(), most, HIGHEST[kind]])).jobs,
    wait: async () => void (await waitForMarker()),
    async waitAndClaim() {
      // Both are sent at once; Redis runs the second when the first returns, also for a worker that is paused by then. Its
      // wait ends before its locks do: otherwise it would claim its own calls again when they return to the queue.
      const [, claimed] = await Promise.all([
        waitForMarker(Math.min(waitSeconds, lockMs / 2_000)),
        claimAfterWait!(keys, [token, lockMs, '', 1, HIGHEST.any]),
      ])
      const { jobs, isMore } = readClaim(claimed)
      return { job: jobs[0] ?? null, isMore }
    },
    async complete(ids) {
      const refused: string[] = []
      for (let start = 0; start < ids.length; start += COMPLETED_AT_ONCE) {
        const some = ids.slice(start, start + COMPLETED_AT_ONCE)
        refused.push(...((await completeScript(keys, [token, ...some])) as string[]))
      }
      return refused
    },
    // An empty Job: Redis has its data.
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
