import { settlementOf } from '../../core/billing/pricing.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { CallBody, CallEnvelope, CallJob, SettlementRecord } from '../../core/calls/call-job.ts'
import { type FrameBody, type FrameError, withCharge } from '../../core/calls/frames.ts'
import { nativeCall } from '../../core/calls/messages-request.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { inSpan, queueAttributes, tracesAreOn } from '../../platform/observability/tracing.ts'
import { DISPATCH_QUEUE } from '../../platform/queues/queues.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import type { AttemptChain } from '../attempts/attempt-chain.ts'
import type { CallBodies } from '../relay/call-bodies.ts'
import { CallOutbox } from '../relay/call-outbox.ts'
import type { FramePublisher } from '../relay/frame-publisher.ts'
import type { CompletionArchive } from '../relay/idempotency.ts'
import {
  type CallEnding,
  endingFailedByUs,
  endingOf,
  endingOfLost,
  failedEnding,
  stoppedMidStream,
} from './call-ending.ts'
import type { ClaimOfJob, FinishCall, FinishedCall } from './finish-calls.ts'
import { endedHold } from './restored-holds.ts'
import { type RunningCall, type RunningCalls, reasonOf } from './running-calls.ts'
import { askTakeover, type Takeover } from './takeover.ts'

export interface CallRunnerDependencies {
  calls: RunningCalls
  publisher: FramePublisher
  chain: AttemptChain
  catalog: () => CatalogSnapshot
  bodies: Pick<CallBodies, 'read'>
  archive: CompletionArchive
  /** About how long an answer may be to be kept for repeats. */
  wholeAnswerBytesMax: number
  finish: FinishCall
  /** Keeps a settlement that Redis refuses, until it takes it. */
  keepUnsent: (call: FinishedCall) => void
  logger: Logger
  clock: FleetTime
}

/** The right of one worker to run a call. */
export interface Lease {
  /** Counts the leases of this call, from 1: frames carry it, so that those of a lost lease are recognized. */
  generation: number
  /** Which claim of its job it has by now. */
  ofJob(): ClaimOfJob
  /**
   * The same, where Redis does not know it: takes it again if Redis forgot it, or this worker claimed the call again
   * meanwhile. Null when another worker has the call.
   */
  reclaim(): Promise<ClaimOfJob | null>
  /** Whether no other worker can have claimed the call since. */
  isHeld(): Promise<boolean>
}

/**
 * What became of the call: it is finished, and its job gone; its client has received its end, but Redis takes nothing, so
 * its job remains until another claim finds out; its client had received its end before, and its job remains to be
 * completed; it goes back to the queue untouched; or it is another worker's by now.
 */
export type RunResult = 'finished' | 'kept' | 'delivered' | 'hand-back' | 'lost'

/** A call is claimed this often at the most; one that keeps killing its workers ends. */
const MAX_CLAIMS = 5

/**
 * Runs one claimed call to its end: the failover chain, the frames, the settlement. Its client sees the end, the
 * settlement is enqueued and the job is gone in one atomic step (see finish-calls.ts), which a worker whose lease was
 * lost cannot take: the call is another's. `openedBody` is what the job has sealed, where that is known.
 */
export async function runCall(
  job: CallJob,
  lease: Lease,
  deps: CallRunnerDependencies,
  openedBody?: string,
): Promise<RunResult> {
  const { envelope } = job
  const claimedAt = deps.clock()
  const runsOn = envelope.idempotencyRecord !== null
  const outbox = new CallOutbox({
    publisher: deps.publisher,
    callId: envelope.id,
    channel: envelope.replyChannel,
    generation: lease.generation,
    wholeUpToBytes: runsOn ? deps.wholeAnswerBytesMax : 0,
  })
  const call = deps.calls.add(envelope.id, outbox, runsOn)
  try {
    const processed = await inCallSpan(envelope, lease.generation, () =>
      processCall(job, openedBody, lease.generation, call, deps),
    )
    if (isLost(call) || !(await lease.isHeld())) return 'lost'
    if (typeof processed === 'string') return processed
    return await finish(processed, { envelope, lease, call, claimedAt }, deps)
  } finally {
    deps.calls.remove(call)
  }
}

const isLost = (call: RunningCall): boolean => reasonOf(call) === 'lease-lost'
const isShutdown = (call: RunningCall): boolean => reasonOf(call) === 'shutdown'

/** A call that ended, with what it asked where anything was produced. */
interface ProcessedCall {
  ending: CallEnding
  body: CallBody | null
}

async function processCall(
  job: CallJob,
  openedBody: string | undefined,
  generation: number,
  call: RunningCall,
  deps: CallRunnerDependencies,
): Promise<ProcessedCall | RunResult> {
  const { envelope } = job
  const failed = (error: FrameError): ProcessedCall => ({ ending: failedEnding(error), body: null })
  if (generation === 1 && deps.clock(envelope.admittedAt) > envelope.queueDeadlineAt)
    return failed(CALL_ERRORS.waitedTooLong)
  try {
    const takeover: Takeover = generation === 1 ? { kind: 'run' } : await askTakeover(call)
    if (isShutdown(call)) return 'hand-back'
    if (takeover.kind === 'finished') return 'delivered'
    if (takeover.kind === 'run' && generation > MAX_CLAIMS) return failed(CALL_ERRORS.failedInside)
    const body = openedBody === undefined ? await bodyOf(job, deps) : parseBody(openedBody)
    if (body === null) return failed(CALL_ERRORS.bodyGone)
    if (takeover.kind === 'end') return { ending: await endingOfLost(takeover, { envelope, body }), body }
    const send = (frame: FrameBody) => call.outbox.send(frame)
    const signals = { signal: call.controller.signal, upstream: call.upstream.signal }
    const outcome = await deps.chain({ envelope, body, ...signals, send })
    if (call.begunElsewhere) {
      const lost = { kind: 'end', delivered: call.begunElsewhere } as const
      return { ending: await endingOfLost(lost, { envelope, body }, outcome.attempts), body }
    }
    if (outcome.status === 'cancelled' && isShutdown(call)) {
      // A stopping worker hands a call back if its client has seen nothing of it.
      if (!call.outbox.used) return 'hand-back'
      call.failure ??= stoppedMidStream(call.outbox.deliveredChars)
    }
    return { ending: endingOf(outcome, envelope), body }
  } catch (error) {
    deps.logger.error({ err: error, callId: envelope.id }, 'call failed inside the worker')
    return failed(error instanceof ApiError ? toldError(error) : CALL_ERRORS.failedInside)
  }
}

/** What a service of ours that is away or full says itself, such as the store of uploads. */
const toldError = ({ code, message, details: { retryAfterSeconds } }: ApiError): FrameError => ({
  code,
  message,
  ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
})

/** What a call asks; null where it was kept beside the queue and cannot be had. */
async function bodyOf(
  { envelope, sealedBody }: CallJob,
  { bodies, logger }: CallRunnerDependencies,
): Promise<CallBody | null> {
  try {
    const text = await bodies.read(envelope.id, sealedBody)
    if (text !== null) return parseBody(text)
    logger.error({ callId: envelope.id }, 'the body of a call is gone')
  } catch (error) {
    if (sealedBody !== null) throw error
    logger.error({ err: error, callId: envelope.id }, 'the body of a call cannot be read')
  }
  return null
}

function parseBody(text: string): CallBody {
  const body = JSON.parse(text) as CallBody
  return body.native ? nativeCall(body.native) : body
}

/**
 * Finishes a call. Nothing is charged for an answer that nobody was there to hear any more: while its API instance is
 * not heard of, the call ends neither way, and then as one that the gateway failed.
 */
async function finish(
  { ending: first, body }: ProcessedCall,
  run: { envelope: CallEnvelope; lease: Lease; call: RunningCall; claimedAt: number },
  deps: CallRunnerDependencies,
): Promise<RunResult> {
  const { envelope, lease, call, claimedAt } = run
  const { outbox } = call
  let ending = first
  let claimOfJob = lease.ofJob()
  for (;;) {
    if (ending.produced && body && call.failure)
      ending = await endingFailedByUs(ending.produced, call.failure, { envelope, body })
    const { end, produced } = ending
    const times = { claimedAt, finishedAt: deps.clock() }
    const ended = settlementOf(envelope, end, deps.catalog(), times)
    const last = envelope.extended ? withCharge(ending.last, ended.chargePico) : ending.last
    const record = { ...ended, ...(await closeKey(ended, last, envelope, outbox, deps)) }
    const finished = { record, hold: endedHold(envelope, BigInt(record.chargePico)) }
    const result = await deps.finish({
      ...finished,
      claim: claimOfJob,
      channel: envelope.replyChannel,
      last: outbox.lastFrame(last),
      takenTokens: Math.floor(record.usage.completionTokens * outbox.takenPart),
      mustBeHeard: produced !== null && !call.runsOn && reasonOf(call) !== 'client-gone',
    })
    if (typeof result === 'object') {
      // An API instance gave the call up, and the message that says so has not come.
      call.failure = result
      continue
    }
    switch (result) {
      case 'finished':
        outbox.ended(last)
        return 'finished'
      case 'lost': {
        const reclaimed = await lease.reclaim()
        if (reclaimed === null) return 'lost'
        claimOfJob = reclaimed
        break
      }
      case 'gone':
        // Redis lost the job, or this very step was done before another. To settle a call twice charges it once.
        if (!(await lease.isHeld())) return 'lost'
        claimOfJob = claimOfJob === lease.ofJob() ? 'any' : lease.ofJob()
        break
      case 'unheard':
        await deps.publisher.certain(envelope.replyChannel)
        break
      case 'refused':
        await deps.publisher.certain(envelope.replyChannel)
        if (produced && body && call.failure) break
        // Its client need not wait: this worker keeps the settlement until Redis takes it, and the job remains.
        deps.keepUnsent(finished)
        outbox.send(last)
        return 'kept'
      default:
        return result satisfies never
    }
  }
}

/**
 * A charged completion is replayed to repeats from now on. A call that did not complete, or was not charged because the
 * gateway failed it, frees its Idempotency-Key, so that a retry runs anew. Returns what settlement has to know of the key.
 */
async function closeKey(
  record: SettlementRecord,
  last: FrameBody,
  envelope: CallEnvelope,
  { generation, run, frames }: CallOutbox,
  { archive, logger }: Pick<CallRunnerDependencies, 'archive' | 'logger'>,
): Promise<Pick<SettlementRecord, 'idempotencyDigest'>> {
  const { id, accountId, idempotencyRecord } = envelope
  if (idempotencyRecord === null) return {}
  const call = { id, accountId, idempotencyRecord }
  const runsAnew = record.status !== 'completed' && BigInt(record.chargePico) === 0n
  try {
    if (runsAnew) await archive.forget(call)
    else await archive.end(call, frames && { generation, run, frames: [...frames, last] })
  } catch (error) {
    // The call ends all the same; a repeat gets no answer of it.
    logger.warn({ err: error, callId: id }, 'what an Idempotency-Key stands for was not kept')
  }
  return runsAnew ? {} : { idempotencyDigest: idempotencyRecord }
}

/** One claim of a call by this worker, as a part of the trace of its request. */
function inCallSpan<T>(envelope: CallEnvelope, claim: number, run: () => Promise<T>): Promise<T> {
  if (!tracesAreOn()) return run()
  const attributes = {
    ...queueAttributes(DISPATCH_QUEUE, 'process', envelope.id),
    'switchyard.call.claim': claim,
    'switchyard.call.candidates': envelope.candidates.length,
  }
  const options = { kind: 'CONSUMER', attributes, parent: envelope.traceparent } as const
  return inSpan(`process ${DISPATCH_QUEUE}`, options, run)
}
