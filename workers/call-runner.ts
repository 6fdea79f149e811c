import type { HoldGate } from '../src/billing/hold-gate.ts'
import type { CallBody, CallEnvelope, CallJob, SettlementRecord } from '../src/core/call-job.ts'
import type { CatalogSnapshot } from '../src/core/catalog.ts'
import type { FrameBody, FrameError } from '../src/core/frames.ts'
import type { Logger } from '../src/platform/logger.ts'
import type { Sealer } from '../src/platform/sealing.ts'
import { CallOutbox } from '../src/relay/call-outbox.ts'
import type { FramePublisher } from '../src/relay/frame-publisher.ts'
import type { ReplyArchive } from '../src/relay/reply-archive.ts'
import type { AttemptChain, ChainOutcome } from './attempt-chain.ts'
import { inCallSpan } from './call-spans.ts'
import { restoredHold } from './restored-hold.ts'
import type { AbortReason, RunningCall, RunningCalls } from './running-calls.ts'
import type { SettlementOutlet } from './settlement-outlet.ts'
import { type CallEnd, NO_USAGE, settlementRecord } from './settlement-record.ts'
import { askTakeover, endOfShown, type Takeover } from './takeover.ts'

export interface CallRunnerDependencies {
  calls: RunningCalls
  publisher: FramePublisher
  chain: AttemptChain
  catalog: () => CatalogSnapshot
  sealer: Sealer
  gate: Pick<HoldGate, 'endCall'>
  archive: ReplyArchive
  settle: SettlementOutlet
  logger: Logger
  clock: () => number
}

/** One claim of a call by one worker. */
export interface Claim {
  /** Which claim of this job it is, from 1. */
  number: number
  /** Whether no other worker can have claimed the call since. */
  isHeld(): Promise<boolean>
}

/** What becomes of the job: it is done, goes back to the queue untouched, or is another worker's by now. */
export type RunResult = 'done' | 'hand-back' | 'lost'

/** A call is claimed this often at the most; one that keeps killing its workers ends. */
const MAX_CLAIMS = 5

const WAITED_TOO_LONG: FrameError = {
  code: 'request_timeout',
  message: 'The call waited too long for a free worker. Retry shortly.',
}
const INTERRUPTED: FrameError = {
  code: 'all_providers_failed',
  message:
    'The answer broke off and could not be continued. What was delivered is all there is; retry the request.',
}
const FAILED_INSIDE: FrameError = {
  code: 'internal_error',
  message: 'Something went wrong inside the gateway. Retry, and report the request id if it stays.',
}

/**
 * Runs one claimed call to its end: the failover chain, the frames, the settlement. The settlement is
 * enqueued before the client sees the end and before the job completes, so a crash between any two steps
 * neither loses a charge nor doubles one. A worker whose claim was lost settles nothing: the call is another's.
 */
export async function runCall(job: CallJob, claim: Claim, deps: CallRunnerDependencies): Promise<RunResult> {
  const { envelope } = job
  const claimedAt = deps.clock()
  const runsOn = envelope.idempotencyRecord !== null
  const outbox = new CallOutbox(deps.publisher, envelope.id, envelope.replyChannel, claim.number, runsOn)
  const call = deps.calls.add(envelope.id, outbox, runsOn)
  try {
    const ended = await inCallSpan(envelope, claim.number, () => play(job, claim.number, call, deps))
    if (isLost(call) || !(await claim.isHeld())) return 'lost'
    if (typeof ended === 'string') return ended
    const record = settlementRecord(envelope, ended.end, deps.catalog(), {
      claimedAt,
      finishedAt: deps.clock(),
    })
    await close(record, ended.last, envelope, outbox, deps)
    return 'done'
  } finally {
    deps.calls.remove(call)
  }
}

const isLost = ({ controller }: RunningCall): boolean =>
  (controller.signal.reason as AbortReason | undefined) === 'claim-lost'

/** How a call ended: what to settle, and the last frame its client gets. */
interface Ended {
  end: CallEnd
  last: FrameBody
}

async function play(
  job: CallJob,
  claim: number,
  call: RunningCall,
  deps: CallRunnerDependencies,
): Promise<Ended | RunResult> {
  const { envelope } = job
  if (claim === 1 && deps.clock() > envelope.queueDeadlineAt) return failure(WAITED_TOO_LONG)
  try {
    const takeover: Takeover = claim === 1 ? { kind: 'run' } : await askTakeover(call)
    if (call.controller.signal.reason === ('shutdown' satisfies AbortReason)) return 'hand-back'
    if (takeover.kind === 'finished') return 'done'
    if (takeover.kind === 'run' && claim > MAX_CLAIMS) return failure(FAILED_INSIDE)
    const body = JSON.parse(deps.sealer.open(job.sealedBody, envelope.id)) as CallBody
    if (takeover.kind === 'end') {
      const end = await endOfShown(takeover.shown, envelope, body, INTERRUPTED)
      return { end, last: ['error', INTERRUPTED] }
    }
    const outcome = await deps.chain({ envelope, body, signal: call.controller.signal, sink: sinkFor(call) })
    return ended(outcome, envelope, call)
  } catch (error) {
    deps.logger.error({ err: error, callId: envelope.id }, 'call failed inside the worker')
    return failure(FAILED_INSIDE)
  }
}

const sinkFor = ({ outbox }: RunningCall) => ({
  open: (candidate: number) => outbox.send(['open', candidate]),
  text: (text: string) => outbox.send(['text', text]),
  refusal: (text: string) => outbox.send(['refusal', text]),
  toolCalls: (deltas: Extract<FrameBody, readonly ['tool-calls', unknown]>[1]) =>
    outbox.send(['tool-calls', deltas]),
})

function ended(outcome: ChainOutcome, envelope: CallEnvelope, call: RunningCall): Ended | RunResult {
  const reason = call.controller.signal.reason as AbortReason | undefined
  switch (outcome.status) {
    case 'completed':
      return { end: { ...outcome, errorCode: null }, last: lastFrame(outcome, envelope) }
    case 'failed':
      return {
        end: { ...failure(outcome.error).end, attempts: outcome.attempts },
        last: ['error', outcome.error],
      }
    case 'interrupted':
      return {
        end: { ...outcome, errorCode: outcome.error.code, finishReason: 'error' },
        last: ['error', outcome.error],
      }
    case 'cancelled': {
      // A stopping worker hands a call back if its client has seen nothing of it.
      if (reason === 'shutdown' && !call.outbox.used) return 'hand-back'
      const shutdown = reason === 'shutdown'
      return {
        end: {
          ...outcome,
          status: shutdown ? 'interrupted' : 'cancelled',
          errorCode: shutdown ? INTERRUPTED.code : null,
          finishReason: shutdown ? 'error' : null,
        },
        last: ['error', INTERRUPTED],
      }
    }
    default:
      return outcome satisfies never
  }
}

function lastFrame(
  outcome: Extract<ChainOutcome, { status: 'completed' }>,
  envelope: CallEnvelope,
): FrameBody {
  // Usage is shown where the upstream supplied it; a count of our own is only charged by.
  const usage = outcome.usageSource === 'upstream' ? outcome.usage : null
  return envelope.stream
    ? ['finish', outcome.finishReason, usage]
    : ['reply', envelope.candidates.indexOf(outcome.served), outcome.message, outcome.finishReason, usage]
}

function failure(error: FrameError): Ended {
  return {
    end: {
      status: 'failed',
      errorCode: error.code,
      finishReason: null,
      served: null,
      usage: NO_USAGE,
      usageSource: 'none',
      usageClamped: false,
      attempts: [],
      firstTokenAt: null,
    },
    last: ['error', error],
  }
}

async function close(
  record: SettlementRecord,
  last: FrameBody,
  envelope: CallEnvelope,
  outbox: CallOutbox,
  { settle, gate, archive, logger }: CallRunnerDependencies,
): Promise<void> {
  const { idempotencyRecord } = envelope
  if (idempotencyRecord !== null) {
    // What was charged is replayed to a repeat; what came to nothing may run anew.
    const charged = record.status === 'completed' || record.status === 'interrupted'
    await (charged ? archive.keep(record.id, [...outbox.frames, last]) : archive.forget(idempotencyRecord))
  }
  await settle({ record, hold: restoredHold(envelope, false) })
  // Frees the key's place before its client can know that the call is over.
  gate.endCall(record.accountId, record.keyId, record.id).catch((error) => {
    logger.warn({ err: error, callId: record.id }, 'concurrency place not freed; settlement will')
  })
  outbox.send(last)
}
