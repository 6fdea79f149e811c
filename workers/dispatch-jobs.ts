import { Job, Worker } from 'bullmq'
import type { CallJob } from '../src/core/calls/call-job.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { type ClaimedCall, type ClaimKind, createClaimScript } from '../src/platform/queues/call-jobs.ts'
import { DISPATCH_QUEUE } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { QUEUE_PREFIX } from '../src/platform/redis/redis-keys.ts'

/** The dispatch queue as a worker sees it that fetches by hand. */
export interface DispatchJobs {
  /** Begins to look for jobs whose worker died. */
  start(): Promise<void>
  /** Claims calls that wait; fewer than `most` when no more do. */
  claim(token: string, most: number, kind: ClaimKind): Promise<ClaimedCall[]>
  /** Resolves when a call may have come, or after about a second. */
  wait(): Promise<void>
  /** Completes a job that settles nothing; finish-calls.ts completes the others. */
  complete(callId: string, token: string): Promise<void>
  /** Puts a job back into the queue. */
  handBack(callId: string, token: string): Promise<void>
  /** Renews locks; returns the jobs whose lock another has, or nobody. */
  extendLocks(callIds: string[], tokens: string[]): Promise<string[]>
  close(): Promise<void>
}

export interface DispatchJobsOptions {
  /** A client in mode `wait`. */
  redis: Redis
  /** A client of its own, in mode `wait`: it blocks. */
  blocking: Redis
  /** How long a claim stands without renewal. */
  lockMs: number
  logger: Logger
  clock: () => number
}

/** A stalled job is never failed by BullMQ: the runner counts claims and ends it truthfully. */
const NEVER = Number.MAX_SAFE_INTEGER
/** An idle worker looks for calls this often: a worker that hangs may have swallowed the wake-up. */
const BLOCK_SECONDS = 1

/**
 * The queue over BullMQ, which keeps locks, stalled jobs and delayed ones; calls are claimed by a script of ours,
 * many at once.
 */
export function openDispatchJobs({
  redis,
  blocking,
  lockMs,
  logger,
  clock,
}: DispatchJobsOptions): DispatchJobs {
  const worker = new Worker<CallJob>(DISPATCH_QUEUE, null, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    maxStalledCount: NEVER,
  })
  worker.on('error', (error) => logger.warn({ err: error }, 'dispatch queue'))
  worker.on('stalled', (callId) => logger.warn({ callId }, 'call lost its worker; back in the queue'))
  const claimCalls = createClaimScript(redis)
  const marker = `${QUEUE_PREFIX}:${DISPATCH_QUEUE}:marker`
  /** A job as its worker knows it: whatever Redis has of it. */
  const handle = (callId: string) =>
    new Job<CallJob>(worker, 'call', {} as CallJob, { removeOnComplete: true }, callId)

  return {
    async start() {
      await worker.waitUntilReady()
      await worker.startStalledCheckTimer()
    },
    async claim(token, most, kind) {
      const claimed = await claimCalls({ token, lockMs, nowMs: clock(), most, kind })
      if (claimed !== 'due') return claimed
      const { id, data, attemptsStarted } = (await worker.getNextJob(token, { block: false })) ?? {}
      return id !== undefined && data ? [{ id, data, attemptsStarted: attemptsStarted! }] : []
    },
    wait: async () => void (await blocking.bzpopmin(marker, BLOCK_SECONDS)),
    complete: async (callId, token) =>
      void (await handle(callId).moveToCompleted(undefined as never, token, false)),
    handBack: async (callId, token) => void (await handle(callId).moveToWait(token)),
    extendLocks: (callIds, tokens) => worker.extendJobLocks(callIds, tokens, lockMs),
    async close() {
      blocking.disconnect()
      await worker.close(true)
    },
  }
}
