import { MARK_MS } from '../../billing/holds/admission.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { unservedSettlement } from '../../core/billing/settlement.ts'
import { writeBody } from '../../core/calls/call-body.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
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
import type { CallSink } from './pending-call.ts'

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

/** An admitted call: its hold stands. */
export interface AdmittedCall {
  envelope: CallEnvelope
  /** Its job was enqueued with its admission, and the hub expects it. */
  isEnqueued: boolean
  /** Its turn in the dispatch queue. */
  priority: number
}

/** A call on its way. */
export interface DispatchedCall {
  /** Its client is gone. */
  cancel(): void
  /** Its answer was lost on the way to its client, who is told a failure and shall not pay. */
  lost(): void
}

/** How often the end of a call whose job is gone is asked for before it counts as lost. */
const ENDS_ASKED_FOR = 4

/**
 * Sends an admitted call on its way: the sink waits on the reply channel before the job exists. A call that waits
 * too long for its first claim, or whose client leaves before it, is taken off the queue again, costs nothing, and
 * its hold is released. A call that was claimed once is never taken off: its worker ends it, or the one that
 * takes it over. `over` is called once it has ended for its client and its worker.
 */
export function dispatchCall(
  admitted: AdmittedCall,
  content: CallContent,
  sink: CallSink,
  deps: DispatchDependencies,
  over?: () => void,
): DispatchedCall {
  const { hub, callJobs, bodies, cleanup, logger } = deps
  const { envelope } = admitted
  const { id, idempotencyRecord } = envelope
  let leftByClient = false
  let timesGone = 0
  // Nothing may throw from here on: a call that waits has a job, or hears that it has none.
  const call = hub.register(envelope, sink, () => void checkLiveness(), {
    told: (error, deliveredText) => cleanup.add(() => leaveEvidence(error, deliveredText)),
    over,
  })
  // Nothing here may refer to the content any more: it may be long, and what follows lives as long as the call.
  const queued = enqueue(admitted, content, deps).catch(async (error) => {
    // A worker has it: the job came to be, and only the word of it was lost.
    if (call.isHeard) return
    logger.warn({ code: CALL_ERRORS.notQueued.code, cause: causeOf(error), callId: id }, 'call not enqueued')
    cleanup.add(undoEnqueue)
    await fail(CALL_ERRORS.notQueued)
  })

  /** The job may exist all the same: Redis can go away between doing a thing and saying so. */
  async function undoEnqueue(): Promise<void> {
    const withdrawal = await giveUp(envelope, deps)
    // Should the job be gone because it was served, its own settlement outranks this one.
    if (withdrawal === 'withdrawn' || withdrawal === 'missing')
      await settleUnrun('failed', CALL_ERRORS.notQueued)
  }

  /** Nothing was heard for long: the call still waits, or runs silently, or is gone with its last frame. */
  async function checkLiveness(): Promise<void> {
    try {
      const isOverdue = deps.clock(envelope.admittedAt) >= envelope.queueDeadlineAt
      const mayWithdraw = !call.isHeard && isOverdue && !hub.isReconnecting(deps.clock())
      if (await isThere(mayWithdraw)) {
        timesGone = 0
      } else if (timesGone === ENDS_ASKED_FOR) {
        // Its worker settled it, then went away before anybody could ask for the lost frame again.
        logger.error({ callId: id }, 'the end of an answer was lost')
        call.endAsLost(CALL_ERRORS.answerLost)
        hub.forget(id)
      } else {
        timesGone += 1
        call.endIsMissing()
      }
    } catch (cause) {
      logger.warn({ err: cause, callId: id }, 'liveness of a call not checked')
    }
  }

  /** Whether the call has a job, or has ended here because it waited too long for a worker. */
  async function isThere(mayWithdraw: boolean): Promise<boolean> {
    if (!mayWithdraw) return callJobs.exists(id)
    return (await withdraw()) !== 'missing'
  }

  /** Takes the call off the queue if no worker ever had it, and ends it; a worker that has it hears `cancel`. */
  async function withdraw(): Promise<Withdrawal> {
    const withdrawal = await callJobs.withdraw(id)
    // Heard of by now: Redis lost the job of a call that runs, and a repeated enqueue had brought it back.
    if (withdrawal !== 'withdrawn' || call.isHeard) return withdrawal
    cleanup.add(() => settleUnrun(leftByClient ? 'cancelled' : 'failed', CALL_ERRORS.waitedTooLong))
    await fail(CALL_ERRORS.waitedTooLong)
    return withdrawal
  }

  /** Ends a call that no worker serves. What it held can be spent again by the time its client reads the error. */
  async function fail(error: FrameError): Promise<void> {
    hub.forget(id)
    await deps.holds.endCall({ ...envelope, callId: id, chargePico: 0n }).catch((cause) => {
      logger.warn(
        { cause: causeOf(cause), callId: id },
        'the call was not ended in the balance cache; its settlement will',
      )
    })
    call.end(error)
  }

  /** Records a call that no worker served, which releases its hold. Repeatable. */
  function settleUnserved(status: CallStatus, error: FrameError, deliveredTokens = 0): Promise<void> {
    return settleUnservedCall(envelope, status, error, deps, deliveredTokens)
  }

  /**
   * Its caller was told that the call failed: it is charged for what was delivered before, whatever its worker has to say.
   * The step that finishes a call finds the note on its job. One that is finished by now is credited by the evidence.
   */
  async function leaveEvidence(error: FrameError, deliveredText: string): Promise<void> {
    // A call with an Idempotency-Key runs on for a repeat, which gets the whole answer.
    const isNoted =
      idempotencyRecord === null
        ? await callJobs.noteTold(id, { code: error.code, deliveredChars: deliveredText.length })
        : await callJobs.exists(id)
    if (isNoted) return
    // Its key is freed, and a repeat is charged in full.
    const deliveredTokens = idempotencyRecord === null ? await countTextTokens(deliveredText) : 0
    await settleUnserved('failed', error, deliveredTokens)
  }

  /** The same for one that no worker can have an answer to: a repeat shall run anew. */
  async function settleUnrun(status: CallStatus, error: FrameError): Promise<void> {
    await settleUnserved(status, error)
    if (idempotencyRecord !== null) await deps.archive.forget({ ...envelope, idempotencyRecord })
    if ((await queued) !== 'in the job') await bodies.drop(id)
  }

  return {
    cancel() {
      call.abandon()
      // A call with an Idempotency-Key runs on for a repeat.
      if (idempotencyRecord !== null) return
      leftByClient = true
      queued.then(withdraw).catch((cause) => {
        logger.warn({ err: cause, callId: id }, 'call not withdrawn from the queue')
      })
    },
    lost() {
      logger.error({ callId: id }, 'the files of an answer were lost')
      cleanup.add(() => settleUnserved('failed', CALL_ERRORS.answerLost))
    },
  }
}

/**
 * Takes back a call that was refused because Redis went away: it may have been admitted and enqueued in one step, and
 * may even have run. Repeatable.
 * @param isKept whether Redis still has the data that it had when it was asked for the admission. One that lost its data
 *   knows nothing of a call that a worker runs all the same
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
      !(await deps.holds.wasEnqueued(id)) &&
      (await isKept()))
  if (neverRan) return deps.holds.release(accountId, id)
  // The worker that has it keeps its hold, and finds the note when it finishes. One that is finished by now is credited by
  // the evidence.
  const told = { code: CALL_ERRORS.notQueued.code, deliveredChars: 0 }
  if (await deps.callJobs.noteTold(id, told)) return
  await settleUnservedCall(envelope, 'failed', CALL_ERRORS.notQueued, deps)
}

/** Tells whoever runs the call that its caller was told a failure, and takes it off the queue if nobody does. */
function giveUp({ id }: CallEnvelope, { hub, callJobs }: DispatchDependencies): Promise<Withdrawal> {
  hub.tellWorkers({
    kind: 'cancel',
    callId: id,
    ending: { by: 'gateway', code: CALL_ERRORS.notQueued.code, deliveredChars: 0 },
  })
  return callJobs.withdraw(id)
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

/** Where the body of a call waits. */
type Place = 'in the job' | 'beside it'

/** Seals what a call asks, and puts its job into the queue. Returns where its body waits. */
async function enqueue(
  { envelope, isEnqueued, priority }: AdmittedCall,
  content: CallContent,
  { bodies, dispatchQueue }: DispatchDependencies,
): Promise<Place> {
  const { id } = envelope
  const attributes = queueAttributes(DISPATCH_QUEUE, 'send', id)
  return inSpan(`send ${DISPATCH_QUEUE}`, { kind: 'PRODUCER', attributes }, async () => {
    if (isEnqueued) return 'in the job'
    const sealedBody = await bodies.put(id, writeBody(content))
    await enqueueCall(dispatchQueue, envelope, sealedBody, priority)
    return sealedBody === null ? 'beside it' : 'in the job'
  })
}

/** A CallJob, JSON. */
export const jobData = (envelope: CallEnvelope, sealedBody: string): string =>
  JSON.stringify({ envelope, sealedBody })
