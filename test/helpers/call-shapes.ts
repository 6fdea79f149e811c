import type { CallOutbox } from '../../src/calls/worker/call-outbox.ts'
import type { ClaimedCall } from '../../src/calls/worker/leases.ts'
import { type RunningCall, RunningCalls } from '../../src/calls/worker/running-calls.ts'
import type { AttemptRecord, CallEnvelope, CallJob, Candidate } from '../../src/core/calls/call-job.ts'
import type { ChatContent, ChatMessage } from '../../src/core/calls/chat-request.ts'
import type { FrameBody } from '../../src/core/calls/frames.ts'
import type { CallContent } from '../../src/core/calls/kinds/call-kinds.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { stubOf } from './stub-of.ts'

/** One builder for each shape of a call: everything that a test does not name is plain. */

/** A chat of these messages, or of one by the user. */
export const chatOf = (
  said: string | ChatMessage[] = 'hello world',
  more: Partial<ChatContent> = {},
): ChatContent => ({
  kind: 'chat',
  messages: typeof said === 'string' ? [{ role: 'user', content: said }] : said,
  parameters: {},
  ...more,
})

export const candidateOf = (more: Partial<Candidate> = {}): Candidate => ({
  offerId: 'acme/large-1',
  modelId: 'm',
  requestedModel: more.modelId ?? 'm',
  rate: { prompt: '1000000', completion: '2000000' },
  rateVersion: 'v1',
  contextLength: 8_000,
  promptTokensBound: 100,
  completionLimit: 64,
  reasoning: false,
  ...more,
})

/** A call that was admitted now, without a candidate, and held nothing. */
export function envelopeOf(more: Partial<CallEnvelope> = {}): CallEnvelope {
  const now = Date.now()
  return {
    id: newCallId(),
    accountId: 'acct_1',
    keyId: 'key_1',
    requestId: 'request-1',
    requestedModel: 'm',
    stream: true,
    replyChannel: 'api',
    candidates: [],
    holdPico: '0',
    idempotencyRecord: null,
    admittedAt: now,
    queueDeadlineAt: now + 15_000,
    callDeadlineAt: now + 600_000,
    ...more,
  }
}

export const jobOf = (more: Partial<CallEnvelope> = {}): CallJob => ({
  envelope: envelopeOf(more),
  sealedBody: '',
})

/** A call that was claimed once. */
export const claimedOf = (job: CallJob, more: Partial<ClaimedCall> = {}): ClaimedCall => ({
  job,
  generation: 1,
  number: 1,
  stalls: 0,
  renewedAt: 0,
  epoch: '',
  state: 'held',
  ...more,
})

/** A running call whose frames are passed to `send`, until `signal` aborts it. */
export function runningOf(
  envelope: CallEnvelope,
  content: CallContent,
  { signal, send = () => undefined }: { signal?: AbortSignal; send?: (frame: FrameBody) => void } = {},
): RunningCall<CallContent> {
  const outbox = stubOf<CallOutbox>({ callId: envelope.id, send })
  const call = new RunningCalls().add(claimedOf({ envelope, sealedBody: '' }), outbox)
  const leave = () => call.controller.abort(signal?.reason)
  if (signal?.aborted) leave()
  else signal?.addEventListener('abort', leave)
  return { ...call, content }
}

/** An attempt that its provider answered whole. */
export const attemptRecordOf = (more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  offerId: 'acme/large-1',
  outcome: 'ok',
  httpStatus: 200,
  startedAt: 1_000,
  firstTokenMs: 5,
  durationMs: 9,
  ...more,
})
