import { Job, Worker } from 'bullmq'
import type { Logger } from '../src/platform/observability/logger.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { QUEUE_PREFIX } from '../src/platform/redis/redis-keys.ts'

export type BatchJob<Data> = Job<Data>

/**
 * Jobs of a queue by the batch, on BullMQ's manual processing. A batch is what waits when it is taken, up to a size:
 * the first job is never held back for company. Completing a job fetches the next in the same script, so a busy
 * queue costs one script a job. What a job holds is known only once it is fetched, so the last few may exceed the size.
 */
export interface BatchWorker<Data> {
  /** Begins to look for jobs whose worker died. */
  start(): Promise<void>
  /**
   * Adds waiting jobs to those at hand until the batch is full or none waits. With none at hand, blocks a while for
   * the first.
   */
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

export interface BatchWorkerOptions<Data> {
  /** A client in mode `wait`. BullMQ makes a second connection of it for blocking. The caller closes it. */
  redis: Redis
  /** A batch of this size is full. */
  batchMax: number
  /** What a job adds to the size of its batch. */
  sizeOf: (data: Data) => number
  lockMs: number
  logger: Logger
}

/** After a probe that found jobs only, the next is this much larger. */
const PROBE_GROWTH = 4
/** Jobs fetched or completed at once at the most. */
const AT_ONCE = 64
const ERROR_PAUSE_MS = 200
/** How long an idle worker blocks at a time. */
const BLOCK_SECONDS = 5

/** A batch worker over one queue. However often its worker died, a job stays in the queue. */
export function createBatchWorker<Data>(queue: string, options: BatchWorkerOptions<Data>): BatchWorker<Data> {
  const { redis, batchMax, sizeOf, lockMs, logger } = options
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

  const sizeOfAll = (jobs: Array<BatchJob<Data>>) => jobs.reduce((size, job) => size + sizeOf(job.data), 0)

  const completeSome = async (jobs: Array<BatchJob<Data>>, fetchNext: boolean) => {
    const results = await Promise.allSettled(jobs.map((job) => job.moveToCompleted(null, token, fetchNext)))
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
      let size = sizeOfAll(jobs)
      for (let probe = jobs.length; size < batchMax; probe *= PROBE_GROWTH) {
        const wanted = Math.min(probe, batchMax - size, AT_ONCE)
        const found = await Promise.all(Array.from({ length: wanted }, () => take(false)))
        const more = found.filter((job) => job !== undefined)
        jobs.push(...more)
        size += sizeOfAll(more)
        if (more.length < wanted) break
      }
      return jobs
    },

    async complete(jobs, fetchNext) {
      const next: Array<BatchJob<Data>> = []
      for (let start = 0; start < jobs.length; start += AT_ONCE) {
        const some = jobs.slice(start, start + AT_ONCE)
        const isMoreWanted = fetchNext() && sizeOfAll(next) < batchMax
        next.push(...(await completeSome(some, isMoreWanted)))
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
