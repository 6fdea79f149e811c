import type { CallJobs } from './call-jobs.ts'
import type { SettlementQueue } from './queues.ts'

/** Which of some calls have a job, waiting or running, in either queue. */
export type FindQueuedCalls = (callIds: readonly string[]) => Promise<Set<string>>

/** With a longer backlog of settlements every call counts as queued: nothing may be swept then. */
const BACKLOG_MAX = 10_000
const UNFINISHED = ['waiting', 'active', 'delayed', 'prioritized'] as const
/** A job may carry a hundred kilobytes: of those that were read only the ids are kept. */
const JOBS_AT_ONCE = 50
const CALLS_AT_ONCE = 1_000

/**
 * Looks calls up in the queues: dispatch first, since a call's settlement is enqueued before its dispatch job goes.
 * Each look reads the whole backlog of settlements, so ask once for all the calls there are.
 */
export function createFindQueuedCalls(
  callJobs: Pick<CallJobs, 'exists'>,
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
    const settling = await readSettlingCalls(settlement)
    if (settling === null) return new Set(callIds)
    for (const callId of callIds) if (settling.has(callId)) queued.add(callId)
    return queued
  }
}

/** Ids of the calls whose settlement waits or runs; null when there are too many to look. */
export async function readSettlingCalls(settlement: SettlementQueue): Promise<Set<string> | null> {
  // All ids in one step: jobs go from list to list meanwhile. One that is gone by then has settled its calls.
  const jobIds = await settlement.getRanges([...UNFINISHED], 0, BACKLOG_MAX)
  if (jobIds.length > BACKLOG_MAX) return null
  const settling = new Set<string>()
  for (let start = 0; start < jobIds.length; start += JOBS_AT_ONCE) {
    const some = jobIds.slice(start, start + JOBS_AT_ONCE)
    for (const job of await Promise.all(some.map((jobId) => settlement.getJob(jobId))))
      for (const { id } of job?.data.records ?? []) settling.add(id)
  }
  return settling
}
