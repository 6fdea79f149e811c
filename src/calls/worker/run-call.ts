import { setImmediate as nextTurn } from 'node:timers/promises'
import { settlementOf } from '../../core/billing/settlement.ts'
import { readBody } from '../../core/calls/call-body.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { CallEnvelope, CallJob, SettlementRecord } from '../../core/calls/call-job.ts'
import { type CallOutcome, failedCall, lastFrameOf } from '../../core/calls/call-outcome.ts'
import type { FrameBody, FrameError } from '../../core/calls/frames.ts'
import type { CallContent } from '../../core/calls/kinds/call-kinds.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { inSpan, queueAttributes, tracesAreOn } from '../../platform/observability/tracing.ts'
import { Interrupted } from '../../platform/process/interruptible.ts'
import { DISPATCH_QUEUE } from '../../platform/queues/queues.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import type { CallBodies } from '../protocol/call-bodies.ts'
import type { CompletionArchive } from '../protocol/idempotency.ts'
import type { AttemptChain } from './attempts/attempt-chain.ts'
import { boundedConversions } from './attempts/bounded-conversions.ts'
import { CallOutbox } from './call-outbox.ts'
import { failedByGateway, isProduced, outcomeOfLostRun, stoppedMidStream } from './delivered-outcome.ts'
import type { FinishCall, FinishStep, UnsettledCall } from './finish-calls.ts'
import type { FramePublisher } from './frame-publisher.ts'
import { claimOf, type HeldLease, type Leases } from './leases.ts'
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
 * lost cannot take: the call is another's. `openedBody` is what the job has sealed, where that is known.
 */
export async function runCall(
  lease: HeldLease,
  deps: CallRunnerDependencies,
  openedBody?: string,
): Promise<JobRemainder> {
  const { envelope } = lease.job
  const claimedAt = deps.clock()
  const runsOn = envelope.idempotencyRecord !== null
  const outbox = new CallOutbox({
    publisher: deps.publisher,
    callId: envelope.id,
    channel: envelope.replyChannel,
    generation: lease.generation,
    wholeUpToBytes: runsOn ? deps.wholeCompletionBytesMax : 0,
  })
  const call = deps.calls.add(envelope.id, outbox, runsOn)
  try {
    return await inCallSpan(envelope, lease.generation, deps.countCall, async (countCall) => {
      const run = new CallRun(lease, call, claimedAt, { ...deps, countCall })
      const ended = await run.outcome(openedBody)
      if (reasonOf(call) === 'lease-lost' || !(await deps.leases.isHeld(lease))) return 'leave'
      return typeof ended === 'string' ? ended : await run.finish(ended)
    })
  } finally {
    deps.calls.remove(call)
  }
}

/** One run of a call under one lease. */
class CallRun {
  readonly #lease: HeldLease
  readonly #call: RunningCall
  readonly #claimedAt: number
  readonly #deps: CallRunnerDependencies
  /** Null until it is read. */
  #body: CallContent | null = null

  constructor(lease: HeldLease, call: RunningCall, claimedAt: number, deps: CallRunnerDependencies) {
    this.#lease = lease
    this.#call = call
    this.#claimedAt = claimedAt
    this.#deps = deps
  }

  get #envelope(): CallEnvelope {
    return this.#lease.job.envelope
  }

  /** Runs the call until its outcome is known, or until it is not this worker's to end. */
  async outcome(openedBody?: string): Promise<CallOutcome | JobRemainder> {
    const { job, generation, stalls } = this.#lease
    const { clock, logger } = this.#deps
    const call = this.#call
    const envelope = this.#envelope
    const isShutdown = () => reasonOf(call) === 'shutdown'
    if (generation === 1 && clock(envelope.admittedAt) > envelope.queueDeadlineAt)
      return failedCall(CALL_ERRORS.waitedTooLong)
    try {
      const delivered = generation === 1 ? null : await askTakeover(call)
      if (isShutdown()) return 'hand-back'
      if (delivered?.finished) return 'complete'
      if (delivered === null && stalls >= STALLS_MAX) return this.#stoppedWorkers()
      const body = openedBody === undefined ? await bodyOf(job, this.#deps) : readBody(openedBody)
      if (body === null) return failedCall(CALL_ERRORS.bodyGone)
      this.#body = body
      if (delivered) return await outcomeOfLostRun(delivered, { envelope, body })
      const send = (frame: FrameBody) => call.outbox.send(frame)
      const signals = { signal: call.controller.signal, upstream: call.upstream.signal }
      const convert = boundedConversions({
        isSuspect: stalls > 0,
        onHold: (heldMs) => logger.warn({ callId: envelope.id, heldMs }, 'call held the event loop'),
      })
      const outcome = await this.#deps.chain({ envelope, body, ...signals, send, convert })
      if (call.begunElsewhere)
        return await outcomeOfLostRun(call.begunElsewhere, { envelope, body }, outcome.attempts)
      if (outcome.status === 'cancelled' && isShutdown()) {
        // A stopping worker returns a call to the queue if its client has received nothing of it.
        if (!call.outbox.used) return 'hand-back'
        call.failure ??= stoppedMidStream(call.outbox.deliveredChars)
      }
      return outcome
    } catch (error) {
      if (error instanceof Interrupted) return this.#stoppedWorkers()
      logger.error({ err: error, callId: envelope.id }, 'call failed inside the worker')
      return failedCall(error instanceof ApiError ? frameErrorOf(error) : CALL_ERRORS.failedInside)
    }
  }

  #stoppedWorkers(): CallOutcome {
    const { id: callId, accountId } = this.#envelope
    const fields = { subject: accountId, callId, accountId }
    this.#deps.logger.error({ alarm: 'call-stops-workers', ...fields }, 'call ended, its workers stopped')
    return failedCall(CALL_ERRORS.stopsWorkers)
  }

  /**
   * Finishes the call. Nothing is charged for a completion that no API instance received: while its own is not known to
   * be there, the call ends neither way, and then as one that the gateway failed.
   */
  async finish(ended: CallOutcome): Promise<JobRemainder> {
    const { finish, leases, publisher, outbox, countCall } = this.#deps
    const lease = this.#lease
    const call = this.#call
    const channel = this.#envelope.replyChannel
    let outcome = ended
    let claim: FinishStep['claim'] = claimOf(lease)
    for (;;) {
      if (isProduced(outcome) && this.#body && call.failure)
        outcome = await failedByGateway(outcome, call.failure, { envelope: this.#envelope, body: this.#body })
      const { last, ...step } = await this.#stepFor(outcome, claim)
      const result = await finish({ ...step, last: call.outbox.lastFrame(last) })
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
          if (!(await leases.reclaim(lease))) return this.#leave(step)
          claim = claimOf(lease)
          break
        case 'gone':
          // Redis lost the job, or this step was done before another. Settling a call twice charges it once.
          if (!(await leases.isHeld(lease))) return this.#leave(step)
          claim = claim === claimOf(lease) ? 'any' : claimOf(lease)
          break
        case 'no-subscriber':
          await publisher.certain(channel)
          break
        case 'refused':
          await publisher.certain(channel)
          if (isProduced(outcome) && this.#body && call.failure) break
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

  /**
   * Leaves the call to others, unless this step was done before and Redis lost it with its last writes, after the client
   * had received the end: then no other worker settles the call.
   */
  async #leave(step: UnsettledCall): Promise<JobRemainder> {
    if (await askEnded(this.#call)) {
      this.#deps.countCall(step.record)
      this.#deps.outbox.keepUnsent(step)
    }
    return 'leave'
  }

  async #stepFor(outcome: CallOutcome, claim: FinishStep['claim']) {
    const { catalog, clock } = this.#deps
    const { outbox, runsOn } = this.#call
    const envelope = this.#envelope
    const times = { claimedAt: this.#claimedAt, finishedAt: clock() }
    const settlement = settlementOf(outcome, envelope, catalog(), times)
    const last = lastFrameOf(outcome, envelope, settlement.chargePico)
    const record = { ...settlement, ...(await closeKey(settlement, last, envelope, outbox, this.#deps)) }
    return {
      record,
      hold: endedHold(envelope, BigInt(record.chargePico)),
      claim,
      channel: envelope.replyChannel,
      last,
      takenTokens: Math.floor(record.usage.completionTokens * outbox.takenPart),
      needsSubscriber: isProduced(outcome) && !runsOn && reasonOf(this.#call) !== 'client-gone',
    }
  }
}

/** The error of a service that is away or full, such as the store of uploads. */
const frameErrorOf = ({ code, message, details: { retryAfterSeconds } }: ApiError): FrameError => ({
  code,
  message,
  ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
})

/** The request of a call; null if it was stored beside the queue and is gone. */
async function bodyOf(
  { envelope, sealedBody }: CallJob,
  { bodies, logger }: CallRunnerDependencies,
): Promise<CallContent | null> {
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
    'switchyard.call.claim': claim,
    'switchyard.call.candidates': envelope.candidates.length,
  }
  const options = { kind: 'CONSUMER', attributes, parent: envelope.traceparent } as const
  return inSpan(`process ${DISPATCH_QUEUE}`, options, (span) =>
    run((record) => {
      const { status, errorCode, attempts, chargePico } = record
      span.set({
        'switchyard.call.status': status,
        'switchyard.call.attempts': attempts.length,
        'switchyard.call.charge_usd': Number(formatUsd(BigInt(chargePico))),
      })
      if (errorCode !== null) span.fail(errorCode)
      countCall(record)
    }),
  )
}
