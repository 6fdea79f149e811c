import type { CallEnvelope, CallJob } from '../../core/calls/call-job.ts'
import type { GatewayFailure } from '../../core/calls/frames.ts'
import { readScript } from '../redis/read-script.ts'
import { defineScript, type Redis } from '../redis/redis.ts'
import { admittedKey, queuePrefix, shardOf } from '../redis/redis-keys.ts'
import {
  DISPATCH_QUEUE,
  REVIVED,
  SETTLEMENT_QUEUE,
  type SettlementQueue,
  storedJobOptions,
} from './queues.ts'

/**
 * Result of withdrawing a call from the queue. `withdrawn`: no worker ever had it and none will. `claimed`: a worker
 * has it or had it. `delayed`: the job belongs to a running call (see requeueCall).
 */
export type Withdrawal = 'withdrawn' | 'missing' | 'claimed' | 'delayed'

/** The number of the restored claim, or why it was not restored. */
export type Reclaimed = number | 'lost' | 'missing'

/** Where a job is: `queued` until a worker first claims it. `worker` is the one that has it; null if its claim has expired. */
export type CallPlace = { kind: 'queued' } | { kind: 'running'; worker: string | null }

export type CallJobs = ReturnType<typeof createCallJobs>

const WITHDRAW = readScript(import.meta.url, './withdraw-call.lua')
const ENQUEUE = readScript(import.meta.url, './enqueue-call.lua')
const RECLAIM = readScript(import.meta.url, './reclaim-call.lua')
const NOTE_CALL_FAILURE = readScript(import.meta.url, './note-failure.lua')

/**
 * Atomic operations on the jobs of a shard's dispatch queue that BullMQ does not offer. BullMQ's key layout:
 * `<prefix>:<queue>:<list, or job id>`.
 */
export function createCallJobs(connection: Redis, shard = 0) {
  const redis = connection.shard(shard)
  const enqueue = defineScript(redis, 'syEnqueueCall', ENQUEUE)
  const withdraw = defineScript(redis, 'syWithdrawCall', WITHDRAW)
  const reclaim = defineScript(redis, 'syReclaimCall', RECLAIM)
  const noteFailure = defineScript(redis, 'syNoteToldFailure', NOTE_CALL_FAILURE)
  const key = (name: string) => `${queuePrefix(shard)}:${DISPATCH_QUEUE}:${name}`
  const takeOff = async (callId: string, takesRequeued: '0' | '1') => {
    const keys = [key(callId), key('wait'), key('paused'), key('prioritized'), key('delayed')]
    return (await withdraw(keys, [callId, takesRequeued])) as Withdrawal
  }
  return {
    /** Enqueues a call whose sealed body is bytes, at most once. `priority`: see src/billing/holds/admission.ts. */
    async enqueue(envelope: CallEnvelope, sealedBody: Buffer, priority: number): Promise<void> {
      const options = JSON.stringify({ ...storedJobOptions(envelope.id), priority })
      const [data, now] = [JSON.stringify({ envelope }), Date.now()]
      await enqueue([key('').slice(0, -1)], [envelope.id, data, options, now, priority, sealedBody])
    },
    /** Removes a call from the queue if it still waits for its first claim. */
    withdraw: (callId: string) => takeOff(callId, '0'),
    /** Removes a revived call from the queue (see requeueCall), unless a worker has claimed it since. */
    dropRequeued: (callId: string) => takeOff(callId, '1'),
    /**
     * Restores a claim whose lock expired. Returns its number, `lost` if another worker claimed the call since, or
     * `missing` if there is no job and no mark that it was admitted.
     */
    async reclaim(
      callId: string,
      { token, number, lockMs }: { token: string; number: number; lockMs: number },
    ): Promise<Reclaimed> {
      const lists = ['active', 'wait', 'stalled', 'prioritized'].map(key)
      const keys = [key(callId), key(`${callId}:lock`), ...lists, admittedKey(callId, shard)]
      const claim = (await reclaim(keys, [callId, token, lockMs, number])) as number
      if (claim > 0) return claim
      return claim === 0 ? 'lost' : 'missing'
    },
    /**
     * Records on the job of a call that its client received an error; false if there is no job, because the call is
     * finished or Redis lost it.
     */
    noteFailure: async (callId: string, failure: GatewayFailure) =>
      (await noteFailure([key(callId)], [JSON.stringify(failure)])) === 1,
    /** The place of a call's job; null if there is no job. */
    async place(callId: string): Promise<CallPlace | null> {
      const [name, claims] = await redis.hmget(key(callId), 'name', 'ats')
      if (!name) return null
      if (Number(claims) > 0) return { kind: 'running', worker: await redis.get(key(`${callId}:lock`)) }
      if (name !== REVIVED) return { kind: 'queued' }
      const data = await redis.hget(key(callId), 'data')
      const { worker = null } = JSON.parse(data ?? '{}') as Partial<CallJob>
      return { kind: 'running', worker }
    },
    /** Whether a call has a job, in any state. */
    exists: async (callId: string) => (await redis.exists(key(callId))) === 1,
    /** The ids of the calls in settlement jobs, as finish-calls.lua lists them; null: not listed. */
    settledBy: (jobIds: readonly string[]): Promise<Array<string[] | null>> =>
      Promise.all(
        jobIds.map(async (jobId) => {
          const calls = await redis.hget(`${queuePrefix(shard)}:${SETTLEMENT_QUEUE}:${jobId}`, 'calls')
          return calls?.split(',') ?? null
        }),
      ),
  }
}

/** A call that its account's shard has a hold of. */
export interface HeldCall {
  accountId: string
  callId: string
}

/** Which of the given calls have a job, waiting or running, in either queue of their account's shard. Returns their ids. */
export type FindQueuedCalls = (calls: readonly HeldCall[]) => Promise<Set<string>>

const UNFINISHED = ['waiting', 'active', 'delayed', 'prioritized'] as const
/** Jobs read at once. A job can hold a hundred kilobytes, so only the ids are kept. */
const JOBS_AT_ONCE = 50
const CALLS_AT_ONCE = 1_000

/** What finding a shard's calls needs of its queues. */
interface SearchedQueues {
  callJobs: Pick<CallJobs, 'exists' | 'settledBy'>
  settlement: SettlementQueue
}

/**
 * Looks calls up in the queues of their accounts' shards; `queues` are those of all shards, in their order. Each lookup
 * scans all waiting settlements, so pass all calls at once.
 */
export function createFindQueuedCalls(queues: readonly SearchedQueues[]): FindQueuedCalls {
  const shardOfCall = ({ accountId }: HeldCall) => shardOf(accountId, { shards: queues.length })
  return async (calls) => {
    const queued = new Set<string>()
    for (const [shard, ofShard] of Map.groupBy(calls, shardOfCall)) {
      const callIds = ofShard.map(({ callId }) => callId)
      for (const callId of await findInQueues(callIds, queues[shard]!)) queued.add(callId)
    }
    return queued
  }
}

/** Dispatch first: a settlement is enqueued before the dispatch job is removed. */
async function findInQueues(callIds: readonly string[], queues: SearchedQueues): Promise<Set<string>> {
  const queued = new Set<string>()
  for (let start = 0; start < callIds.length; start += CALLS_AT_ONCE) {
    const some = callIds.slice(start, start + CALLS_AT_ONCE)
    const exist = await Promise.all(some.map((callId) => queues.callJobs.exists(callId)))
    for (const [index, callId] of some.entries()) if (exist[index]) queued.add(callId)
  }
  if (queued.size === callIds.length) return queued
  const settling = await readSettlingCalls(queues)
  for (const callId of callIds) if (settling.has(callId)) queued.add(callId)
  return queued
}

/** Ids of the calls whose settlement waits or runs. */
export async function readSettlingCalls({
  settlement,
  callJobs: { settledBy },
}: SearchedQueues): Promise<Set<string>> {
  // Reads all ids in one step, because jobs move between lists. A job that is gone by then has settled its calls.
  const jobIds = await settlement.getRanges([...UNFINISHED], 0, -1)
  const settling = new Set<string>()
  const unlisted: string[] = []
  for (let start = 0; start < jobIds.length; start += CALLS_AT_ONCE) {
    const some = jobIds.slice(start, start + CALLS_AT_ONCE)
    const listed = await settledBy(some)
    for (const [index, jobId] of some.entries()) {
      const calls = listed[index]
      if (calls) for (const callId of calls) settling.add(callId)
      else unlisted.push(jobId)
    }
  }
  // Jobs that were enqueued without a list of ids have few records.
  for (let start = 0; start < unlisted.length; start += JOBS_AT_ONCE) {
    const some = unlisted.slice(start, start + JOBS_AT_ONCE)
    for (const job of await Promise.all(some.map((jobId) => settlement.getJob(jobId))))
      for (const { id } of job?.data.records ?? []) settling.add(id)
  }
  return settling
}
