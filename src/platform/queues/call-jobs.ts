import { readFileSync } from 'node:fs'
import type { GatewayFailure } from '../../core/calls/frames.ts'
import { defineScript, type Redis } from '../redis/redis.ts'
import { admittedKey, QUEUE_PREFIX } from '../redis/redis-keys.ts'
import { DISPATCH_QUEUE, SETTLEMENT_QUEUE, type SettlementQueue } from './queues.ts'

/**
 * What became of a wish to take a call off the queue. Only `withdrawn` says that no worker ever had it and that
 * none will; `claimed`: a worker has it or had it; `delayed`: it stands for a call that a worker runs.
 */
export type Withdrawal = 'withdrawn' | 'missing' | 'claimed' | 'delayed'

/** The number under which a claim stands again, or why it does not. */
export type Retaken = number | 'lost' | 'missing'

export type CallJobs = ReturnType<typeof createCallJobs>

const WITHDRAW = readFileSync(new URL('./withdraw-call.lua', import.meta.url), 'utf8')
const RETAKE = readFileSync(new URL('./retake-call.lua', import.meta.url), 'utf8')
const NOTE_TOLD = readFileSync(new URL('./note-told-failure.lua', import.meta.url), 'utf8')

/**
 * Steps on the jobs of the dispatch queue that BullMQ does not offer, each one atomic. BullMQ's key layout:
 * `<prefix>:<queue>:<list, or job id>`.
 */
export function createCallJobs(redis: Redis) {
  const withdraw = defineScript(redis, 'syWithdrawCall', WITHDRAW)
  const retake = defineScript(redis, 'syRetakeCall', RETAKE)
  const noteTold = defineScript(redis, 'syNoteToldFailure', NOTE_TOLD)
  const key = (name: string) => `${QUEUE_PREFIX}:${DISPATCH_QUEUE}:${name}`
  const takeOff = async (callId: string, takesRevived: '0' | '1') => {
    const keys = [key(callId), key('wait'), key('paused'), key('prioritized'), key('delayed')]
    return (await withdraw(keys, [callId, takesRevived])) as Withdrawal
  }
  return {
    /** Takes a call off the queue if it waits for its first claim. */
    withdraw: (callId: string) => takeOff(callId, '0'),
    /** Takes a revived call off the queue (see reviveCall), unless a worker has claimed it since. */
    removeRevived: (callId: string) => takeOff(callId, '1'),
    /**
     * Takes a claim again whose lock is gone. Returns its number; `lost` when somebody else claimed the call since, and
     * `missing` when there is no job and no sign that there was one.
     */
    async retake(
      callId: string,
      { token, number, lockMs }: { token: string; number: number; lockMs: number },
    ): Promise<Retaken> {
      const lists = ['active', 'wait', 'stalled', 'prioritized'].map(key)
      const keys = [key(callId), key(`${callId}:lock`), ...lists, admittedKey(callId)]
      const claim = (await retake(keys, [callId, token, lockMs, number])) as number
      if (claim > 0) return claim
      return claim === 0 ? 'lost' : 'missing'
    },
    /**
     * Notes on the job of a call that its caller was told a failure; false where there is no job: the call is finished,
     * or Redis lost it.
     */
    noteTold: async (callId: string, told: GatewayFailure) =>
      (await noteTold([key(callId)], [JSON.stringify(told)])) === 1,
    /** Whether a call has a job, in whatever state. */
    exists: async (callId: string) => (await redis.exists(key(callId))) === 1,
    /** Ids of the calls that settlement jobs settle, as the script that finishes calls lists them; null: not listed. */
    settledBy: (jobIds: readonly string[]): Promise<Array<string[] | null>> =>
      Promise.all(
        jobIds.map(async (jobId) => {
          const calls = await redis.hget(`${QUEUE_PREFIX}:${SETTLEMENT_QUEUE}:${jobId}`, 'calls')
          return calls?.split(',') ?? null
        }),
      ),
  }
}

/** Which of some calls have a job, waiting or running, in either queue. */
export type FindQueuedCalls = (callIds: readonly string[]) => Promise<Set<string>>

const UNFINISHED = ['waiting', 'active', 'delayed', 'prioritized'] as const
/** A job may carry a hundred kilobytes: of those that were read only the ids are kept. */
const JOBS_AT_ONCE = 50
const CALLS_AT_ONCE = 1_000

/**
 * Looks calls up in the queues: dispatch first, since a call's settlement is enqueued before its dispatch job goes.
 * Each look goes through the whole backlog of settlements, so ask once for all the calls there are.
 */
export function createFindQueuedCalls(
  callJobs: Pick<CallJobs, 'exists' | 'settledBy'>,
  settlement: SettlementQueue,
): FindQueuedCalls {
  return async (callIds) => {
    const queued = new Set<string>()
    for (let start = 0; start < callIds.length; start += CALLS_AT_ONCE) {
      const some = callIds.slice(start, start + CALLS_AT_ONCE)
      const exist = await Promise.all(some.map((callId) => callJobs.exists(callId)))
      for (const [index, callId] of some.entries()) if (exist[index]) queued.add(callId)
    }
    if (queued.size === callIds.length) return queued
    const settling = await readSettlingCalls(settlement, callJobs)
    for (const callId of callIds) if (settling.has(callId)) queued.add(callId)
    return queued
  }
}

/** Ids of the calls whose settlement waits or runs. */
export async function readSettlingCalls(
  settlement: SettlementQueue,
  { settledBy }: Pick<CallJobs, 'settledBy'>,
): Promise<Set<string>> {
  // All ids in one step: jobs go from list to list meanwhile. One that is gone by then has settled its calls.
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
  // Those that were enqueued otherwise carry few records.
  for (let start = 0; start < unlisted.length; start += JOBS_AT_ONCE) {
    const some = unlisted.slice(start, start + JOBS_AT_ONCE)
    for (const job of await Promise.all(some.map((jobId) => settlement.getJob(jobId))))
      for (const { id } of job?.data.records ?? []) settling.add(id)
  }
  return settling
}
