import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { CallJobs } from '../../platform/queues/call-jobs.ts'
import type { Idempotency, KeyedCall } from '../protocol/idempotency.ts'

/**
 * Where a call is, according to Redis. `queued`: no worker has claimed it yet. `running`: `worker` has it; null if its claim
 * has expired. `ended`: according to the record of its Idempotency-Key. `gone`: it has no job, because it ended or Redis
 * lost it.
 *
 * Calls that have been silent are looked up (see PendingCall), because their last frame may be lost. Whether a worker is
 * alive is determined by worker-heartbeats.ts without reading Redis, because a Redis that stands still would make every
 * worker look dead.
 */
export type Whereabouts = { kind: 'queued' | 'ended' | 'gone' } | { kind: 'running'; worker: string | null }

export async function whereIs(
  callId: CallId,
  { callJobs }: { callJobs: Pick<CallJobs, 'place'> },
): Promise<Whereabouts> {
  return (await callJobs.place(callId)) ?? { kind: 'gone' }
}

/** Maximum time until a call is enqueued. */
const ENQUEUED_WITHIN_MS = 5_000

/** Where the call of an Idempotency-Key is; `gone` if the key is for another call. */
export async function whereIsOriginal(
  { id, accountId, idempotencyRecord, admittedAt }: ResponseEnvelope & KeyedCall,
  deps: {
    callJobs: Pick<CallJobs, 'place'>
    idempotency: Pick<Idempotency, 'find'>
    clock: () => number
  },
): Promise<Whereabouts> {
  const found = await deps.idempotency.find(accountId, idempotencyRecord)
  if (found?.callId !== id) return { kind: 'gone' }
  if (found.hasEnded) return { kind: 'ended' }
  const where = await whereIs(id, deps)
  const mayCome = where.kind === 'gone' && deps.clock() < admittedAt + ENQUEUED_WITHIN_MS
  return mayCome ? { kind: 'queued' } : where
}
