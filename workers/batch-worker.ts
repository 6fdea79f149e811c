import { Job, Worker } from 'bullmq'
import type { Logger } from '../src/platform/logger.ts'
import type { Redis } from '../src/platform/redis.ts'
import { QUEUE_PREFIX } from '../src/platform/redis-keys.ts'

export type BatchJob<Data> = Job<Data>

/**
 * Jobs of a queue by the batch, on BullMQ's manual processing. A batch is what waits when it is taken: the
 * first job is never held back for company. Completing a job fetches the next in the same script, so a busy
 * queue costs one script a job.
 */
export interface BatchWorker<Data> {
  /** Begins to look for jobs whose worker died. */
  start(): Promise<void>
  /** Adds waiting jobs to those at hand, up to the maximum. With none at hand, blocks a while for the first. */
  fill(atHand: Array<BatchJob<Data>>): Promise<Array<BatchJob<Data>>>
  /** Completes a batch; returns the jobs fetched on the way, none when `fetchNext` says no. */
  complete(jobs: Array<BatchJob<Data>>, fetchNext: () => boolean): Promise<Array<BatchJob<Data>>>
  /** Puts a batch back into the queue, for another worker. */
  handBack(jobs: Array<BatchJob<Data>>): Promise<[]>
  /** Renews the locks of a batch until the returned function is called. */
  keepLocks(jobs: Array<BatchJob<Data>>): () => void
  /** Ends a `fill` that blocks; the next finds nothing. */
  wake(): void
  close(): Promise<void>
}

export interface BatchWorkerOptions {
  /** A client in mode `wait`. BullMQ makes a second connection of it for blocking. The caller closes it. */
  redis: Redis
  batchMax: number
  lockMs: number
  logger: Logger
}

/** After a batch that left jobs waiting, the next probe is this much larger. */
const PROBE_GROWTH = 4
const ERROR_PAUSE_MS = 200
/** How long an idle worker blocks at a time. */
const BLOCK_SECONDS = 5

/** A batch worker over one queue. However often its worker died, a job stays in the queue. */
export function createBatchWorker<Data>(queue: string, options: BatchWorkerOptions): BatchWorker<Data> {
  const { redis, batchMax, lockMs, logger } = options
  const worker = new Worker<Data>(queue, null, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    drainDelay: BLOCK_SECONDS,
  })
  worker.on('error', (error) => logger.error({ err: error, queue }, 'queue error'))
  const token = worker.id
  let blocked = false

  const take = async (block: boolean): Promise<BatchJob<Data> | undefined> => {
    blocked = block
    try {
      return await worker.getNextJob(token, { block })
    } catch (error) {
      logger.warn({ err: error, queue }, 'jobs cannot be fetched')
      await worker.delay(ERROR_PAUSE_MS)
      return undefined
    } finally {
      blocked = false
    }
  }

  return {
    start: () => worker.startStalledCheckTimer(),

    async fill(atHand) {
      const jobs = [...atHand]
      if (jobs.length === 0) {
        const first = await take(true)
        if (!first) return []
        jobs.push(first)
      }
      for (let probe = jobs.length; jobs.length < batchMax; probe *= PROBE_GROWTH) {
        const wanted = Math.min(probe, batchMax - jobs.length)
        const found = await Promise.all(Array.from({ length: wanted }, () => take(false)))
        const more = found.filter((job) => job !== undefined)
        jobs.push(...more)
        if (more.length < wanted) break
      }
      return jobs
    },

    async complete(jobs, fetchNext) {
      const results = await Promise.allSettled(
        jobs.map((job) => job.moveToCompleted(null, token, fetchNext())),
      )
      const next: Array<BatchJob<Data>> = []
      for (const [index, result] of results.entries()) {
        if (result.status === 'rejected') {
          // Most likely the lock was lost and another worker has the job. What was done to it is idempotent.
          logger.warn({ err: result.reason, jobId: jobs[index]?.id }, 'a job could not be completed')
          continue
        }
        const [data, jobId] = result.value ?? []
        if (!data) continue
        const job = Job.fromJSON<Data>(worker, data, jobId)
        job.token = token
        next.push(job)
      }
      return next
    },

    async handBack(jobs) {
      const results = await Promise.allSettled(jobs.map((job) => job.moveToWait(token)))
      const kept = results.filter((result) => result.status === 'rejected').length
      if (kept > 0)
        logger.warn(
          { jobs: kept },
          'jobs could not be handed back; they are taken again when their lock ends',
        )
      return []
    },

    keepLocks(jobs) {
      const ids = jobs.map((job) => job.id as string)
      const tokens = ids.map(() => token)
      const timer = setInterval(() => {
        worker.extendJobLocks(ids, tokens, lockMs).catch((error: unknown) => {
          logger.warn({ err: error, jobs: ids.length }, 'job locks could not be renewed')
        })
      }, lockMs / 3)
      return () => clearInterval(timer)
    },

    wake() {
      if (blocked)
        worker
          .close(true)
          .catch((error: unknown) => logger.warn({ err: error }, 'worker did not close cleanly'))
    },

    close: () => worker.close(),
  }
}
