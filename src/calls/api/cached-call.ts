import { unservedSettlement } from '../../core/billing/settlement.ts'
import type { ResponseEnvelope, SettlementRecord } from '../../core/calls/call-job.ts'
import type { FrameBody, ReportedUsage } from '../../core/calls/frames.ts'
import type { CallRequest } from '../../core/calls/kinds/call-kinds.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { enqueueSettlement } from '../../platform/queues/queues.ts'
import type { CachedResponse } from '../protocol/response-cache.ts'
import type { Caller } from './admit-call.ts'
import type { DispatchDependencies } from './enqueue-and-wait.ts'
import type { CallSink } from './pending-call.ts'

/** A call that is answered from the response cache: it holds and costs nothing, and no worker runs it. */
export interface CachedCall {
  kind: 'cached'
  envelope: ResponseEnvelope
  frames: readonly FrameBody[]
  /** Since the response was stored. */
  ageSeconds: number
}

/** Answers a call with a cached response, under an id of its own, and records that it repeats another. */
export function cachedCall(
  { envelope: original, frames, storedAt }: CachedResponse,
  request: CallRequest,
  caller: Caller,
  callId: CallId,
  { settlementQueue, cleanup, clock }: Pick<DispatchDependencies, 'settlementQueue' | 'cleanup' | 'clock'>,
): CachedCall {
  const now = clock()
  const envelope = { ...original, id: callId, idempotencyRecord: null, admittedAt: now }
  const record = recordOf(original.id, frames, request, caller, { callId, now })
  cleanup.add(() => enqueueSettlement(settlementQueue, record))
  const ageSeconds = Math.max(0, Math.floor((now - storedAt) / 1000))
  return { kind: 'cached', envelope, frames: frames.map(withoutCharge), ageSeconds }
}

/** Its tokens count as none: a provider produced them for the call that it names. */
function recordOf(
  cached: CallId,
  frames: readonly FrameBody[],
  { models, stream }: CallRequest,
  { key: { accountId, keyId }, requestId, labels }: Caller,
  { callId, now }: { callId: CallId; now: number },
): SettlementRecord {
  const call = { id: callId, accountId, keyId, requestId, requestedModel: models[0]!, stream }
  const facts = { holdPico: '0', labels: { ...labels, cached }, admittedAt: now }
  const unserved = unservedSettlement({ ...call, ...facts }, 'completed', null, now)
  return { ...unserved, finishReason: finishOf(frames), firstTokenAt: now }
}

function finishOf(frames: readonly FrameBody[]): string | null {
  const last = frames.at(-1)
  if (last?.[0] === 'finish') return last[1]
  return last?.[0] === 'completion' ? last[3] : null
}

/** The usage stays what the completion took; its charge is that of this call. */
function withoutCharge(frame: FrameBody): FrameBody {
  if (frame[0] === 'finish') return ['finish', frame[1], free(frame[2]), ...nativeOf(frame[3])]
  if (frame[0] !== 'completion') return frame
  return ['completion', frame[1], frame[2], frame[3], free(frame[4]), ...nativeOf(frame[5])]
}

const nativeOf = <T>(native: T | null | undefined): [T] | [] => (native ? [native] : [])

const free = (usage: ReportedUsage | null): ReportedUsage | null =>
  usage?.chargePico === undefined ? usage : { ...usage, chargePico: '0' }

export function replayCached({ frames }: CachedCall, sink: CallSink): void {
  for (const frame of frames) {
    if (frame[0] === 'texts') for (const text of frame[1]) void sink.frame(['text', text])
    else void sink.frame(frame)
  }
  sink.flush()
}
