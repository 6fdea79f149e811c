import { MARK_MS, type RateState } from '../../billing/holds/admission.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { unservedSettlement } from '../../core/billing/settlement.ts'
import { writeBody } from '../../core/calls/call-body.ts'
import { CALL_ERRORS, waitedTooLong } from '../../core/calls/call-errors.ts'
import type { CallEnvelope, CallStatus } from '../../core/calls/call-job.ts'
import type { FrameError } from '../../core/calls/frames.ts'
import type { CallContent } from '../../core/calls/kinds/call-kinds.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import { inSpan, queueAttributes } from '../../platform/observability/tracing.ts'
import type { CallJobs, Withdrawal } from '../../platform/queues/call-jobs.ts'
import {
  DISPATCH_QUEUE,
  type DispatchQueue,
  enqueueCall,
  enqueueSettlement,
  type SettlementQueue,
} from '../../platform/queues/queues.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import { countTextTokens } from '../../providers/count-tokens.ts'
import type { CleanupTasks } from '../cleanup-tasks.ts'
import type { CallBodies } from '../protocol/call-bodies.ts'
import type { CompletionArchive } from '../protocol/idempotency.ts'
import type { CallHub } from './call-hub.ts'
import type { CallSink, PendingCall } from './pending-call.ts'
import { whereIs } from './where-is.ts'

export interface DispatchDependencies {
  hub: CallHub
  dispatchQueue: DispatchQueue
  callJobs: CallJobs
  settlementQueue: SettlementQueue
  holds: Pick<HoldStore, 'endCall' | 'release' | 'wasEnqueued'>
  bodies: Pick<CallBodies, 'seal' | 'put' | 'drop'>
  archive: CompletionArchive
  cleanup: CleanupTasks
  logger: Logger
  clock: FleetTime
}

/** An admitted call, which has a hold. */
export interface AdmittedCall {
  kind: 'admitted'
  envelope: CallEnvelope
  /** Its job was enqueued with its admission, and the hub expects it. */
  isEnqueued: boolean
  /** Its priority in the dispatch queue. */
  priority: number
  /** The rate limits of its key and account after it. */
  rate: RateState
}

/** How often the end of a call without a job is requested before it counts as lost. */
const ENDS_ASKED_FOR = 4

/**
 * Dispatches an admitted call: the sink waits on the reply channel before the job exists. A call that waits too long
 * for its first claim, or whose client leaves before it, is withdrawn from the queue, costs nothing, and its hold is
 * released. A call that was claimed once is never withdrawn: its worker ends it, or the one that takes it over. `over`
 * is called once it has ended for its client and its worker.
 */
export function dispatchCall(
  admitted: AdmittedCall,
  content: CallContent,
  sink: CallSink,
  deps: DispatchDependencies,
  over?: () => void,
): PendingCall {
  const { hub, callJobs, bodies, cleanup, logger } = deps
  const { envelope } = admitted
  const { id, idempotencyRecord } = envelope
  let leftByClient = false
  let isEnqueuing = true
  let timesGone = 0
  // Nothing may throw from here on: a waiting call either has a job, or receives an error.
  const call = hub.register(envelope, sink, () => void look(), {
    errorSent(error, deliveredText, isSettled) {
      const task = () => leaveEvidence(error, deliveredText)
      if (isSettled) cleanup.addIfLost(task)
      else cleanup.add(task)
    },
    over,
    clientLeft,
    responseLost() {
      logger.error({ callId: id }, 'files of a response lost')
      cleanup.add(() => settleUnserved('failed', CALL_ERRORS.responseLost))
    },
  })
  // Nothing here may refer to the content any more: it may be long, and what follows lives as long as the call.
  const queued = enqueue(admitted, content, deps).catch(async (error) => {
    // A worker has it: the job exists, and only the response of Redis was lost.
    if (call.hasFrames) return
    logger.warn({ code: CALL_ERRORS.notQueued.code, cause: causeOf(error), callId: id }, 'call not enqueued')
    cleanup.add(undoEnqueue)
    await fail(CALL_ERRORS.notQueued)
  })
  void queued.then(() => {
    isEnqueuing = false
  })

  /** The job may exist nevertheless: Redis can fail between an operation and its response. */
  async function undoEnqueue(): Promise<void> {
    const withdrawal = await giveUp(envelope, deps)
    // If the job is gone because it was served, its own settlement outranks this one.
    if (withdrawal === 'withdrawn' || withdrawal === 'missing')
      await settleUnrun('failed', CALL_ERRORS.notQueued)
    // The worker may finish the call before the message of `giveUp` arrives.
    else await leaveEvidence(CALL_ERRORS.notQueued, '')
  }

  /** The call has been silent: it still waits, or runs silently, or is gone and its last frame is lost. */
  async function look(): Promise<void> {
    try {
      const isOverdue = deps.clock(envelope.admittedAt) >= envelope.queueDeadlineAt
      const mayWithdraw = !call.hasFrames && isOverdue && !hub.isReconnecting(deps.clock())
      if (mayWithdraw && (await withdraw()) === 'withdrawn') return
      const where = await whereIs(id, deps)
      switch (where.kind) {
        case 'queued':
          timesGone = 0
          return
        case 'running':
          timesGone = 0
          return call.foundRunning(where.worker)
        case 'ended':
        case 'gone':
          // A long body is stored before its job exists.
          if (isEnqueuing) return
          timesGone += 1
          if (timesGone <= ENDS_ASKED_FOR) return call.endIsMissing(deps.clock(), await hub.endedBy(id))
          // Its worker settled it, then died before the lost frame could be requested again.
          logger.error({ callId: id }, 'last frame of a call lost')
          call.endAsLost(CALL_ERRORS.responseLost)
          return hub.forget(id)
        default:
          return where satisfies never
      }
    } catch (cause) {
      logger.warn({ err: cause, callId: id }, 'lookup of a silent call failed')
    }
  }

  /** Withdraws the call if no worker ever had it, and ends it; a worker that has it receives `cancel`. */
  async function withdraw(): Promise<Withdrawal> {
    const withdrawal = await callJobs.withdraw(id)
    // A worker has sent frames: Redis lost the job of a running call, and a repeated enqueue had restored it.
    if (withdrawal !== 'withdrawn' || call.hasFrames) return withdrawal
    const error = waitedTooLong(envelope)
    cleanup.add(() => settleUnrun(leftByClient ? 'cancelled' : 'failed', error))
    await fail(error)
    return withdrawal
  }

  /** Ends a call that no worker serves. Its hold can be spent again by the time its client reads the error. */
  async function fail(error: FrameError): Promise<void> {
    hub.forget(id)
    await deps.holds.endCall({ ...envelope, callId: id, chargePico: 0n }).catch((cause) => {
      logger.warn(
        { cause: causeOf(cause), callId: id },
        'call not ended in the balance cache, its settlement will do it',
      )
    })
    call.end(error)
  }

  /** Records a call that no worker served, which releases its hold. Repeatable. */
  function settleUnserved(status: CallStatus, error: FrameError, deliveredTokens = 0): Promise<void> {
    return settleUnservedCall(envelope, status, error, deps, deliveredTokens)
  }

  /**
   * The client got an error, so it is charged only for what was delivered before, whatever its worker reports. The
   * script that finishes a call reads the note on its job. A call that is finished already is credited from the record.
   */
  async function leaveEvidence(error: FrameError, deliveredText: string): Promise<void> {
    // A call with an Idempotency-Key continues for a repeat, which gets the whole response.
    const isNoted =
      idempotencyRecord === null
        ? await callJobs.noteFailure(id, { code: error.code, deliveredChars: deliveredText.length })
        : await callJobs.exists(id)
    if (isNoted) return
    // Its key is released, and a repeat is charged in full.
    const deliveredTokens = idempotencyRecord === null ? await countTextTokens(deliveredText) : 0
    await settleUnserved('failed', error, deliveredTokens)
  }

  /** The same for a call that no worker can have a completion of: a repeat must run again. */
  async function settleUnrun(status: CallStatus, error: FrameError): Promise<void> {
    await settleUnserved(status, error)
    if (idempotencyRecord !== null) await deps.archive.forget({ ...envelope, idempotencyRecord })
    if ((await queued) !== 'in the job') await bodies.drop(id)
  }

  function clientLeft(): void {
    // A call with an Idempotency-Key continues for a repeat.
    if (idempotencyRecord !== null) return
    leftByClient = true
    const withdrawOrFind = async () => {
      await queued
      if ((await withdraw()) !== 'withdrawn' && call.addressee === null) await look()
    }
    withdrawOrFind().catch((cause) => {
      logger.warn({ err: cause, callId: id }, 'call not withdrawn from the queue')
    })
  }

  return call
}

/**
 * Undoes a call that was refused because Redis failed: it may have been admitted and enqueued in one step, and may even
 * have run. Repeatable.
 * @param isKept whether Redis still has the data of the time of the admission. A Redis that lost its data
 * does not know a call that a worker may still run
 */
export async function undoAdmission(
  envelope: CallEnvelope,
  isKept: () => Promise<boolean>,
  deps: DispatchDependencies,
): Promise<void> {
  const { id, accountId } = envelope
  const withdrawal = await giveUp(envelope, deps)
  const neverRan =
    withdrawal === 'withdrawn' ||
    (withdrawal === 'missing' &&
      deps.clock() < envelope.admittedAt + MARK_MS &&
      !(await deps.holds.wasEnqueued(envelope)) &&
      (await isKept()))
  if (neverRan) return deps.holds.release(accountId, id)
  // The worker that has it keeps its hold, and reads the note when it finishes. A call that is finished already, also one
  // whose job a Redis restored that lost its last writes, is credited from the record.
  const failure = { code: CALL_ERRORS.notQueued.code, deliveredChars: 0 }
  if ((await deps.callJobs.noteFailure(id, failure)) && (await isKept())) return
  await settleUnservedCall(envelope, 'failed', CALL_ERRORS.notQueued, deps)
}

/** Withdraws the call if no worker has it; otherwise notifies the worker that its client got an error. */
async function giveUp({ id }: CallEnvelope, { hub, callJobs }: DispatchDependencies): Promise<Withdrawal> {
  const withdrawal = await callJobs.withdraw(id)
  const place = withdrawal === 'withdrawn' || withdrawal === 'missing' ? null : await callJobs.place(id)
  if (place?.kind === 'running' && place.worker !== null)
    hub.tellWorker(place.worker, {
      kind: 'cancel',
      callId: id,
      ending: { by: 'gateway', code: CALL_ERRORS.notQueued.code, deliveredChars: 0 },
    })
  return withdrawal
}

function settleUnservedCall(
  envelope: CallEnvelope,
  status: CallStatus,
  error: FrameError,
  { settlementQueue, clock }: DispatchDependencies,
  deliveredTokens = 0,
): Promise<void> {
  const record = unservedSettlement(envelope, status, error.code, clock(), deliveredTokens)
  return enqueueSettlement(settlementQueue, record)
}

/** Where the body of a call is stored. */
type Place = 'in the job' | 'beside it'

/** Seals the request of a call, and enqueues its job. Returns where its body is stored. */
async function enqueue(
  { envelope, isEnqueued, priority }: AdmittedCall,
  content: CallContent,
  { bodies, callJobs, dispatchQueue }: DispatchDependencies,
): Promise<Place> {
  const { id } = envelope
  const attributes = queueAttributes(DISPATCH_QUEUE, 'send', id)
  return inSpan(`send ${DISPATCH_QUEUE}`, { kind: 'PRODUCER', attributes }, async () => {
    if (isEnqueued) return 'in the job'
    const sealedBody = await bodies.put(id, writeBody(content))
    if (Buffer.isBuffer(sealedBody)) await callJobs.enqueue(envelope, sealedBody, priority)
    else await enqueueCall(dispatchQueue, envelope, sealedBody, priority)
    return sealedBody === null ? 'beside it' : 'in the job'
  })
}

/** A CallJob, JSON. */
export const jobData = (envelope: CallEnvelope, sealedBody: string | null): string =>
  JSON.stringify({ envelope, sealedBody })
