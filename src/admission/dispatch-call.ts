import type { CallEnvelope, SettlementRecord } from '../core/call-job.ts'
import type { CallStatus } from '../core/call-status.ts'
import type { ChatRequest } from '../core/chat-request.ts'
import type { FrameError } from '../core/frames.ts'
import type { Logger } from '../platform/logger.ts'
import {
  DISPATCH_QUEUE,
  type DispatchQueue,
  enqueueCall,
  enqueueSettlement,
  type SettlementQueue,
} from '../platform/queues.ts'
import type { Sealer } from '../platform/sealing.ts'
import { inSpan, queueAttributes } from '../platform/tracing.ts'
import type { CallSink } from '../relay/pending-call.ts'
import type { ReplyArchive } from '../relay/reply-archive.ts'
import type { ReplyHub } from '../relay/reply-hub.ts'
import type { Errands } from './errands.ts'

export interface DispatchDependencies {
  hub: ReplyHub
  dispatchQueue: DispatchQueue
  settlementQueue: SettlementQueue
  sealer: Sealer
  archive: ReplyArchive
  errands: Errands
  logger: Logger
  clock: () => number
}

/** A call on its way; `hangUp` when its client is gone. */
export interface DispatchedCall {
  hangUp(): void
}

const NOT_QUEUED: FrameError = {
  code: 'overloaded',
  message: 'The gateway cannot take calls right now. Retry shortly.',
  retryAfterSeconds: 1,
}
const WAITED_TOO_LONG: FrameError = {
  code: 'request_timeout',
  message: 'The call waited too long for a free worker. Retry shortly.',
}
const LOST: FrameError = {
  code: 'internal_error',
  message: 'The answer was lost inside the gateway. Retry the request.',
}

/**
 * Sends an admitted call on its way: the sink waits on the reply channel before the job exists. A call that
 * never reaches a worker is taken off the queue again, costs nothing, and its hold is released.
 */
export function dispatchCall(
  envelope: CallEnvelope,
  request: ChatRequest,
  sink: CallSink,
  deps: DispatchDependencies,
): DispatchedCall {
  const { hub, dispatchQueue, sealer, errands, logger } = deps
  const { id, idempotencyRecord } = envelope
  let leftByClient = false
  let seenGone = false
  const body = JSON.stringify({ messages: request.messages, parameters: request.parameters })
  const sealedBody = sealer.seal(body, id)
  // Nothing may throw from here on: a call that waits has a job, or hears that it has none.
  const call = hub.register(envelope, sink, () => void lookAfter())
  const queued = inSpan(
    `send ${DISPATCH_QUEUE}`,
    { kind: 'PRODUCER', attributes: queueAttributes(DISPATCH_QUEUE, 'send', id) },
    () => enqueueCall(dispatchQueue, envelope, sealedBody),
  ).catch((error) => {
    // A worker has it: the job came to be, and only the word of it was lost.
    if (call.isHeard) return
    logger.error({ err: error, callId: id }, 'call not enqueued')
    end('failed', NOT_QUEUED)
    // The job may exist all the same: Redis can go away between doing a thing and saying so.
    hub.tellWorkers({ kind: 'cancel', callId: id })
    errands.add(() => dispatchQueue.remove(id))
  })

  /** Nothing was heard for long: the call still waits, or runs silently, or is gone with its last frame. */
  async function lookAfter(): Promise<void> {
    try {
      const waitsTooLong = !call.isHeard && deps.clock() >= envelope.queueDeadlineAt
      if (waitsTooLong && (await withdraw())) return
      if ((await dispatchQueue.getJobState(id)) !== 'unknown') {
        seenGone = false
      } else if (seenGone) {
        // Its worker settled it, then went away before anybody could ask for the lost frame again.
        logger.error({ callId: id }, 'the end of an answer was lost')
        call.end(LOST)
        hub.forget(id)
      } else {
        seenGone = true
        call.probe(deps.clock())
      }
    } catch (cause) {
      logger.warn({ err: cause, callId: id }, 'call not looked after')
    }
  }

  /** Takes the job back if no worker has it yet; a worker that has it hears `cancel` instead. */
  async function withdraw(): Promise<boolean> {
    // Delayed: Redis lost the job of a call that a worker runs, and this one stands for it.
    if ((await dispatchQueue.getJobState(id)) === 'delayed') return false
    if ((await dispatchQueue.remove(id)) !== 1) return false
    end(leftByClient ? 'cancelled' : 'failed', WAITED_TOO_LONG)
    return true
  }

  function end(status: CallStatus, error: FrameError): void {
    call.end(error)
    hub.forget(id)
    const record = unservedRecord(envelope, status, error, deps.clock())
    errands.add(() => enqueueSettlement(deps.settlementQueue, record))
    if (idempotencyRecord !== null) errands.add(() => deps.archive.forget(idempotencyRecord))
  }

  return {
    hangUp() {
      call.abandon()
      // A call with an Idempotency-Key runs on for a repeat.
      if (idempotencyRecord !== null) return
      leftByClient = true
      queued.then(withdraw).catch((cause) => {
        logger.warn({ err: cause, callId: id }, 'call not withdrawn from the queue')
      })
    },
  }
}

/** The record of a call that no worker served: it releases the hold and charges nothing. */
function unservedRecord(
  envelope: CallEnvelope,
  status: CallStatus,
  error: FrameError,
  nowMs: number,
): SettlementRecord {
  return {
    id: envelope.id,
    accountId: envelope.accountId,
    keyId: envelope.keyId,
    requestId: envelope.requestId,
    status,
    errorCode: status === 'cancelled' ? null : error.code,
    finishReason: null,
    requestedModel: envelope.requestedModel,
    stream: envelope.stream,
    served: null,
    usage: { promptTokens: 0, completionTokens: 0 },
    usageSource: 'none',
    usageClamped: false,
    chargePico: '0',
    holdPico: envelope.holdPico,
    attempts: [],
    admittedAt: envelope.admittedAt,
    claimedAt: null,
    firstTokenAt: null,
    finishedAt: nowMs,
  }
}
