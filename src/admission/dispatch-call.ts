import type { CallEnvelope, CallStatus, SettlementRecord } from '../core/call-job.ts'
import type { ChatRequest } from '../core/chat-request.ts'
import type { FrameError } from '../core/frames.ts'
import type { Logger } from '../platform/logger.ts'
import {
  type DispatchQueue,
  enqueueCall,
  enqueueSettlement,
  type SettlementQueue,
} from '../platform/queues.ts'
import type { Sealer } from '../platform/sealing.ts'
import type { CallSink } from '../relay/pending-call.ts'
import type { ReplyArchive } from '../relay/reply-archive.ts'
import type { ReplyHub } from '../relay/reply-hub.ts'

export interface DispatchDependencies {
  hub: ReplyHub
  dispatchQueue: DispatchQueue
  settlementQueue: SettlementQueue
  sealer: Sealer
  archive: ReplyArchive
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
  const { hub, dispatchQueue, sealer, logger } = deps
  const call = hub.register(envelope, sink, () => void withdraw('failed', WAITED_TOO_LONG))
  const body = JSON.stringify({ messages: request.messages, parameters: request.parameters })
  enqueueCall(dispatchQueue, envelope, sealer.seal(body, envelope.id)).catch((error) => {
    logger.error({ err: error, callId: envelope.id }, 'call not enqueued')
    end('failed', NOT_QUEUED)
  })

  /** Takes the job back if no worker has it yet; a worker that has it hears `cancel` instead. */
  async function withdraw(status: CallStatus, error: FrameError): Promise<void> {
    try {
      if ((await dispatchQueue.remove(envelope.id)) === 1) end(status, error)
    } catch (cause) {
      logger.warn({ err: cause, callId: envelope.id }, 'call not withdrawn from the queue')
    }
  }

  function end(status: CallStatus, error: FrameError): void {
    call.end(error)
    hub.forget(envelope.id)
    if (envelope.idempotencyRecord !== null) void freeKey(envelope.idempotencyRecord)
    const record = unservedRecord(envelope, status, error, deps.clock())
    enqueueSettlement(deps.settlementQueue, record).catch((cause) => {
      logger.error({ err: cause, callId: envelope.id }, 'release not enqueued; the sweep will find the hold')
    })
  }

  async function freeKey(record: string): Promise<void> {
    try {
      await deps.archive.forget(record)
    } catch (cause) {
      logger.warn({ err: cause, callId: envelope.id }, 'Idempotency-Key not freed')
    }
  }

  return {
    hangUp() {
      call.abandon()
      // A call with an Idempotency-Key runs on for a repeat.
      if (envelope.idempotencyRecord === null) void withdraw('cancelled', WAITED_TOO_LONG)
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
