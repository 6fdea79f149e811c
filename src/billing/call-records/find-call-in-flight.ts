import type { InFlightTimeline } from '../../core/api/calls.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { createCallJobs, readSettlingCalls } from '../../platform/queues/call-jobs.ts'
import type { DispatchQueue, SettlementQueue } from '../../platform/queues/queues.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { type CallEvent, timelineOf } from './operator-call.ts'

/**
 * Describes a call that is not settled from its job: waiting, running, or about to be settled. Null if neither queue
 * has it. The call's text stays sealed in the job.
 */
export async function findCallInFlight(
  callId: string,
  redis: Redis,
  queues: { dispatchQueue: DispatchQueue; settlementQueue: SettlementQueue },
): Promise<InFlightTimeline | null> {
  const { dispatchQueue, settlementQueue } = queues
  const job = await dispatchQueue.getJob(callId)
  if (!job) {
    const unsettled = await readSettlingCalls(settlementQueue, createCallJobs(redis))
    return unsettled.has(callId) ? settling(callId) : null
  }
  const { envelope, claims = 0 } = job.data
  const held = formatUsd(BigInt(envelope.holdPico))
  const events: CallEvent[] = [
    { at: envelope.admittedAt, kind: 'admitted', event: `admitted, ${held} USD held` },
    { at: job.processedOn ?? null, kind: 'claimed', event: 'claimed by a worker' },
  ]
  return {
    object: 'call_timeline',
    id: callId,
    state: job.processedOn === undefined ? 'queued' : 'running',
    queue: 'dispatch',
    account_id: envelope.accountId,
    key_id: envelope.keyId,
    request_id: envelope.requestId,
    requested_model: envelope.requestedModel,
    stream: envelope.stream,
    held_usd: held,
    candidates: envelope.candidates.map(({ offerId, modelId }) => ({ offer: offerId, model: modelId })),
    claims: job.attemptsStarted + claims,
    timeline: timelineOf(envelope.admittedAt, events),
  }
}

const settling = (callId: string): InFlightTimeline => ({
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
