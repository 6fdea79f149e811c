import { type CallOwner, InFlightTimeline } from '../../core/api/calls.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { readSettlingCalls } from '../../platform/queues/call-jobs.ts'
import type { CallQueues } from '../../platform/queues/call-queues.ts'
import { type CallEvent, timelineOf } from './operator-call.ts'

/** Without the names of its owner, which are not in the queue. */
type UnnamedTimeline = Omit<InFlightTimeline, keyof CallOwner>

/**
 * Describes a call that is not settled from its job: waiting, running, or about to be settled. Null if no queue of any
 * shard has it. Throws if a shard that cannot be asked may have it. The call's text stays sealed in the job.
 */
export async function findCallInFlight(
  callId: string,
  queues: readonly CallQueues[],
): Promise<UnnamedTimeline | null> {
  const answers = await Promise.allSettled(queues.map((ofShard) => findInShard(callId, ofShard)))
  for (const answer of answers) if (answer.status === 'fulfilled' && answer.value) return answer.value
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason
  return null
}

async function findInShard(callId: string, queues: CallQueues): Promise<UnnamedTimeline | null> {
  const job = await queues.dispatch.getJob(callId)
  if (!job) return (await readSettlingCalls(queues)).has(callId) ? settling(callId) : null
  const { envelope, claims = 0 } = job.data
  const held = formatUsd(BigInt(envelope.holdPico))
  const events: CallEvent[] = [
    { at: envelope.admittedAt, kind: 'admitted', event: `admitted, ${held} USD held` },
    { at: job.processedOn ?? null, kind: 'claimed', event: 'claimed by a worker' },
  ]
  return jsonView(InFlightTimeline, {
    ...envelope,
    object: 'call_timeline' as const,
    id: callId,
    state: job.processedOn === undefined ? ('queued' as const) : ('running' as const),
    queue: 'dispatch' as const,
    heldUsd: held,
    candidates: envelope.candidates.map(({ offerId, modelId }) => ({ offer: offerId, model: modelId })),
    claims: job.attemptsStarted + claims,
    timeline: timelineOf(envelope.admittedAt, events),
  })
}

const settling = (callId: string): UnnamedTimeline => ({
  object: 'call_timeline',
  id: callId,
  state: 'settling',
  queue: 'settlement',
  account_id: null,
  key_id: null,
  request_id: null,
  requested_model: null,
  stream: null,
  held_usd: null,
  candidates: [],
  claims: 0,
  timeline: [],
})
