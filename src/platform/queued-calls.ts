import type { DispatchQueue, SettlementQueue } from './queues.ts'

/** Which of some calls have a job, waiting or running, in either queue. */
export type FindQueuedCalls = (callIds: readonly string[]) => Promise<Set<string>>

/** With a longer backlog of settlements every call counts as queued: nothing may be swept then. */
const BACKLOG_MAX = 10_000
const UNFINISHED = ['waiting', 'active', 'delayed', 'prioritized'] as const

/**
 * Looks calls up in the queues: dispatch first, since a call's settlement is enqueued before its dispatch
 * job goes. Settlement jobs carry many calls each, so the whole backlog is read once.
 */
export function createFindQueuedCalls(dispatch: DispatchQueue, settlement: SettlementQueue): FindQueuedCalls {
  return async (callIds) => {
    const states = await Promise.all(callIds.map((callId) => dispatch.getJobState(callId)))
    const jobless = callIds.filter((_, index) => states[index] === 'unknown')
    const queued = new Set(callIds.filter((_, index) => states[index] !== 'unknown'))
    if (jobless.length === 0) return queued
    if ((await settlement.getJobCountByTypes(...UNFINISHED)) > BACKLOG_MAX) return new Set(callIds)
    const jobs = await settlement.getJobs([...UNFINISHED], 0, BACKLOG_MAX)
    // A job that completed while it was read is gone from the answer; its calls are settled by then.
    const waiting = new Set<string>(jobs.flatMap((job) => job?.data.records.map(({ id }) => id) ?? []))
    for (const callId of jobless) if (waiting.has(callId)) queued.add(callId)
    return queued
  }
}
