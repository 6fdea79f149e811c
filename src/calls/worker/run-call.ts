import { setImmediate as nextTurn } from 'node:timers/promises'
import { settlementOf } from '../../core/billing/settlement.ts'
import { readBody } from '../../core/calls/call-body.ts'
import { CALL_ERRORS, waitedTooLong } from '../../core/calls/call-errors.ts'
import type { CachedUnder, CallEnvelope, SettlementRecord } from '../../core/calls/call-job.ts'
import { type CallOutcome, failedCall, lastFrameOf } from '../../core/calls/call-outcome.ts'
import type { FrameBody, FrameError } from '../../core/calls/frames.ts'
import type { CallContent } from '../../core/calls/kinds/call-kinds.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { affinityTarget } from '../../core/routing/affinity.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { inSpan, queueAttributes, tracesAreOn } from '../../platform/observability/tracing.ts'
import { Interrupted } from '../../platform/process/interruptible.ts'
import { DISPATCH_QUEUE } from '../../platform/queues/queues.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import type { CallBodies } from '../protocol/call-bodies.ts'
import { type CompletionArchive, responseEnvelope } from '../protocol/idempotency.ts'
import type { ResponseCache } from '../protocol/response-cache.ts'
import type { AttemptChain } from './attempts/attempt-chain.ts'
import { boundedConversions } from './attempts/bounded-conversions.ts'
import { CallOutbox } from './call-outbox.ts'
import { failedByGateway, isProduced, outcomeOfLostRun, stoppedMidStream } from './delivered-outcome.ts'
import type { FinishCall, FinishStep, UnsettledCall } from './finish-calls.ts'
import type { FramePublisher } from './frame-publisher.ts'
import { type ClaimedCall, claimOf, type Leases } from './leases.ts'
import { endedHold } from './restored-holds.ts'
import { type RunningCall, type RunningCalls, reasonOf } from './running-calls.ts'
import type { SettlementOutbox } from './settlement-outbox.ts'
import { askEnded, askTakeover } from './takeover.ts'

export interface CallRunnerDependencies {
  calls: RunningCalls
  leases: Pick<Leases, 'isHeld' | 'reclaim'>
  publisher: FramePublisher
  chain: AttemptChain
  catalog: () => CatalogSnapshot
  bodies: Pick<CallBodies, 'read'>
  archive: CompletionArchive
  responseCache: Pick<ResponseCache, 'keep' | 'drop'>
  /** Approximate maximum size of a response that is kept for repeats. */
  wholeCompletionBytesMax: number
  finish: FinishCall
  /** Keeps a settlement that Redis refuses, until Redis accepts it. */
  outbox: Pick<SettlementOutbox, 'keepUnsent'>
  /** Called with each call that ended here. */
  countCall: (record: SettlementRecord) => void
  logger: Logger
  clock: FleetTime
}

/** What is left to do with the job of a call that ran here. */
export type JobRemainder =
  /** Nothing: it is gone, and the call is settled. */
  | 'none'
  /** Its client had received its end before: the job is completed, and settles nothing. */
  | 'complete'
  /** The call goes back to the queue untouched. */
  | 'hand-back'
  /** It is another worker's by now; or Redis takes no writes, and it remains until another claim finds the call settled. */
  | 'leave'

/**
 * A call whose workers were lost so often before its client received anything is ended: what it contains may be the cause,
 * and every further worker would be lost to it. One stall alone is an ordinary crash; a call that held its worker's
 * event loop ends at the next one (see bounded-conversions.ts).
 */
const STALLS_MAX = 2

/**
 * Runs one claimed call to its end: the failover chain, the frames, the settlement. Its client receives the end, the
 * settlement is enqueued and the job is gone in one atomic step (see finish-calls.ts), which a worker whose lease was
 * lost cannot take: the call is another's.
 */
export async function runCall(claimed: ClaimedCall, deps: CallRunnerDependencies): Promise<JobRemainder> {
  const { envelope } = claimed.job
  const startedAt = deps.clock()
  const outbox = new CallOutbox({
    publisher: deps.publisher,
    callId: envelope.id,
    channel: envelope.replyChannel,
    generation: claimed.generation,
    wholeUpToBytes: envelope.idempotencyRecord === null && !envelope.cache ? 0 : deps.wholeCompletionBytesMax,
  })
  const call = deps.calls.add(claimed, outbox)
  try {
    return await inCallSpan(envelope, claimed.generation, deps.countCall, async (countCall) => {
      const ended = await runToEnd(call, deps)
      if (reasonOf(call) === 'lease-lost' || !(await deps.leases.isHeld(claimed))) return 'leave'
      return typeof ended === 'string' ? ended : await finish(call, ended, startedAt, { ...deps, countCall })
    })
  } finally {
    deps.calls.remove(call)
  }
}

/** Runs the call until its outcome is known, or until it is not this worker's to end. */
async function runToEnd(
  call: RunningCall,
  deps: CallRunnerDependencies,
): Promise<CallOutcome | JobRemainder> {
  const { envelope } = call
  const { generation, stalls } = call.claimed
  const { clock, logger } = deps
  const isShutdown = () => reasonOf(call) === 'shutdown'
  if (generation === 1 && clock(envelope.admittedAt) > envelope.queueDeadlineAt)
    return failedCall(waitedTooLong(envelope))
  try {
    const delivered = generation === 1 ? null : await askTakeover(call)
    if (isShutdown()) return 'hand-back'
    if (delivered?.finished) return 'complete'
    if (delivered === null && stalls >= STALLS_MAX) return stoppedWorkers(envelope, logger)
    const content = delivered?.text === '' ? null : await contentOf(call.claimed, deps)
    if (delivered) return await outcomeOfLostRun(delivered, { envelope, content })
    if (content === null) return failedCall(CALL_ERRORS.bodyGone)
    const read = Object.assign(call, { content })
    call.convert = boundedConversions({
      isSuspect: stalls > 0,
      onHold: (heldMs) => logger.warn({ callId: envelope.id, heldMs }, 'call held the event loop'),
    })
    const outcome = await deps.chain(read)
    if (call.begunElsewhere) return await outcomeOfLostRun(call.begunElsewhere, read, outcome.attempts)
    if (outcome.status === 'cancelled' && isShutdown()) {
      // A stopping worker returns a call to the queue if its client has received nothing of it.
      if (!call.outbox.used) return 'hand-back'
      call.failure ??= stoppedMidStream(call.outbox.deliveredChars)
    }
    return outcome
  } catch (error) {
    if (error instanceof Interrupted) return stoppedWorkers(envelope, logger)
    logger.error({ err: error, callId: envelope.id }, 'call failed inside the worker')
    return failedCall(error instanceof ApiError ? frameErrorOf(error) : CALL_ERRORS.failedInside)
  }
}

function stoppedWorkers({ id: callId, accountId }: CallEnvelope, logger: Logger): CallOutcome {
  const fields = { subject: accountId, callId, accountId }
  logger.error({ alarm: 'call-stops-workers', ...fields }, 'call ended, its workers stopped')
  return failedCall(CALL_ERRORS.stopsWorkers)
}

/**
 * Finishes the call. Nothing is charged for a completion that no API instance received. If its own is not known to listen,
 * the call is not ended yet; once that is certain, it ends as one that the gateway failed.
 */
async function finish(
  call: RunningCall,
  ended: CallOutcome,
  startedAt: number,
  deps: CallRunnerDependencies,
): Promise<JobRemainder> {
  const { leases, publisher, outbox, countCall } = deps
  const { claimed, envelope } = call
  const channel = envelope.replyChannel
  let outcome = ended
  let claim: FinishStep['claim'] = claimOf(claimed)
  for (;;) {
    if (isProduced(outcome) && hasContent(call) && call.failure)
      outcome = await failedByGateway(outcome, call.failure, call)
    const { last, ...step } = await stepFor(call, outcome, claim, startedAt, deps)
    const result = await deps.finish({ ...step, last: call.outbox.lastFrame(last) })
    if (typeof result === 'object') {
      // An API instance ended the call, and its message has not arrived.
      call.failure = result
      continue
    }
    switch (result) {
      case 'finished':
        countCall(step.record)
        call.outbox.ended(last)
        return 'none'
      case 'lost':
        if (!(await leases.reclaim(claimed))) return leave(call, step, deps)
        claim = claimOf(claimed)
        break
      case 'gone':
        // Redis lost the job, or this step was done before another. Settling a call twice charges it once.
        if (!(await leases.isHeld(claimed))) return leave(call, step, deps)
        claim = claim === claimOf(claimed) ? 'any' : claimOf(claimed)
        break
      case 'no-subscriber':
        await publisher.certain(channel)
        break
      case 'refused':
        await publisher.certain(channel)
        if (isProduced(outcome) && hasContent(call) && call.failure) break
        // Its client need not wait: this worker keeps the settlement until Redis accepts it, and the job remains.
        countCall(step.record)
        outbox.keepUnsent(step)
        call.outbox.send(last)
        return 'leave'
      default:
        return result satisfies never
    }
  }
}

const hasContent = (call: RunningCall): call is RunningCall<CallContent> => call.content !== null

/**
 * Leaves the call to others, unless this step was done before and Redis lost it with its last writes, after the client
 * had received the end: then no other worker settles the call.
 */
async function leave(
  call: RunningCall,
  step: UnsettledCall,
  { countCall, outbox }: CallRunnerDependencies,
): Promise<JobRemainder> {
  if (await askEnded(call)) {
    countCall(step.record)
    outbox.keepUnsent(step)
  }
  return 'leave'
}

async function stepFor(
  call: RunningCall,
  outcome: CallOutcome,
  claim: FinishStep['claim'],
  startedAt: number,
  deps: CallRunnerDependencies,
) {
  const { outbox, runsOn, envelope } = call
  const times = { claimedAt: startedAt, finishedAt: deps.clock() }
  const settlement = settlementOf(outcome, envelope, deps.catalog(), times)
  const last = lastFrameOf(outcome, envelope, settlement.chargePico)
  const record = { ...settlement, ...(await closeKey(settlement, last, envelope, outbox, deps)) }
  if (envelope.cache) await cacheResponse(call, outcome, envelope.cache, last, deps)
  return {
    record,
    hold: endedHold(envelope, BigInt(record.chargePico)),
    claim,
    channel: envelope.replyChannel,
    last,
    moved: movedTo(outcome, envelope),
    takenTokens: Math.floor(record.usage.completionTokens * outbox.takenPart),
    needsSubscriber: isProduced(outcome) && !runsOn && reasonOf(call) !== 'client-gone',
  }
}

/** Where the conversation of a call is from now on, if another candidate served it than the one that it was on. */
function movedTo(
  outcome: CallOutcome,
  { affinity: conversation, candidates: [first] }: CallEnvelope,
): FinishStep['moved'] {
  const served = 'served' in outcome ? outcome.served : null
  if (conversation === undefined || !served || served.modelId !== first!.modelId) return undefined
  const target = affinityTarget(served)
  return target === affinityTarget(first!) ? undefined : { conversation, target }
}

/** The error of a service that is away or full, such as the store of uploads. */
const frameErrorOf = ({ code, message, details: { retryAfterSeconds } }: ApiError): FrameError => ({
  code,
  message,
  ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
})

/** The content of a call; null if it was stored beside the queue and is gone. */
async function contentOf(
  claimed: ClaimedCall,
  { bodies, logger }: CallRunnerDependencies,
): Promise<CallContent | null> {
  const { envelope, sealedBody } = claimed.job
  if (claimed.content) return claimed.content
  try {
    const text = await bodies.read(envelope.id, sealedBody)
    if (text !== null) {
      const content = readBody(text)
      // Parsing a large body takes tens of milliseconds, and so does writing it for a provider.
      if (sealedBody === null) await nextTurn()
      return content
    }
    logger.error({ callId: envelope.id }, 'call body missing')
  } catch (error) {
    if (sealedBody !== null) throw error
    logger.error({ err: error, callId: envelope.id }, 'call body read failed')
  }
  return null
}

/**
 * A charged completion is replayed to repeats from now on. A call that did not complete, or was not charged because the
 * gateway failed it, releases its Idempotency-Key, so that a retry runs again. Returns the fields of the key for the
 * settlement.
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
    // The call ends nevertheless; a repeat gets no response from it.
    logger.warn({ err: error, callId: id }, 'idempotency record not updated')
  }
  return runsAnew ? {} : { idempotencyDigest: idempotencyRecord }
}

/**
 * Stores a whole response before its client has its end, so that the client's next request finds it; drops it again if
 * the call then ends otherwise, which is not charged.
 */
async function cacheResponse(
  { envelope, outbox: { frames } }: RunningCall,
  outcome: CallOutcome,
  cache: CachedUnder,
  last: FrameBody,
  { responseCache, clock, logger }: CallRunnerDependencies,
): Promise<void> {
  const { id, accountId } = envelope
  try {
    const { mayBeCached } = await import('../protocol/response-cache.ts')
    if (outcome.status !== 'completed') await responseCache.drop(accountId, cache)
    else if (frames && mayBeCached(outcome)) {
      const response = { envelope: responseEnvelope(envelope), frames: [...frames, last], storedAt: clock() }
      await responseCache.keep(accountId, cache, response)
    }
  } catch (error) {
    logger.warn({ err: error, callId: id }, 'response not cached')
  }
}

type CountCall = CallRunnerDependencies['countCall']

/** One claim of a call by this worker, as part of the trace of its request. `countCall` also notes the end of the call. */
function inCallSpan<T>(
  envelope: CallEnvelope,
  claim: number,
  countCall: CountCall,
  run: (countCall: CountCall) => Promise<T>,
): Promise<T> {
  if (!tracesAreOn() || envelope.traceparent === undefined) return run(countCall)
  const attributes = {
    ...queueAttributes(DISPATCH_QUEUE, 'process', envelope.id),
    'shuntyard.call.claim': claim,
    'shuntyard.call.candidates': envelope.candidates.length,
  }
  const options = { kind: 'CONSUMER', attributes, parent: envelope.traceparent } as const
  return inSpan(`process ${DISPATCH_QUEUE}`, options, (span) =>
    run((record) => {
      const { status, errorCode, attempts, chargePico } = record
      span.set({
        'shuntyard.call.status': status,
        'shuntyard.call.attempts': attempts.length,
        'shuntyard.call.charge_usd': Number(formatUsd(BigInt(chargePico))),
      })
      if (errorCode !== null) span.fail(errorCode)
      countCall(record)
    }),
  )
}
