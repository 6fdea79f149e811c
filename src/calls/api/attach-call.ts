import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import { type ControlMessage, endsCall } from '../../core/calls/frames.ts'
import { newCallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { CallJobs } from '../../platform/queues/call-jobs.ts'
import {
  type CompletionArchive,
  type Idempotency,
  type KeyedCall,
  responseNotKept,
} from '../protocol/idempotency.ts'
import type { CallHub } from './call-hub.ts'
import type { CallSink, PendingCall } from './pending-call.ts'
import { whereIsOriginal } from './where-is.ts'

export interface AttachDependencies {
  hub: CallHub
  archive: CompletionArchive
  idempotency: Idempotency
  callJobs: Pick<CallJobs, 'place'>
  logger: Logger
  clock: () => number
}

/** Silence after which the original call is looked up. */
const SILENT_FOR_MS = 500
/** The same for a call that has sent frames. */
const HEARD_SILENT_FOR_MS = 2_000
/** Consecutive failed lookups until the call counts as gone. */
const MISSES_MAX = 3

/**
 * Makes a repeat wait for a call that already runs, here or at another instance, or replays its kept response. Nothing
 * is held or charged for it. While it receives nothing, it looks the call up again: kept, running (perhaps at another
 * worker), or gone. So it ends soon after the call does, however that ended.
 */
export function attachCall(
  original: ResponseEnvelope & KeyedCall,
  sink: CallSink,
  deps: AttachDependencies,
): PendingCall {
  const { hub, archive, logger, clock } = deps
  const { id } = original
  // A separate id, because the first client may wait at this instance, too.
  const listenerId = newCallId(deps.clock())
  let hasFrames = false
  let silentUntil = 0
  let misses = 0
  let isLooking = false
  let isOver = false

  const watched: CallSink = {
    frame(body) {
      hasFrames = true
      misses = 0
      silentUntil = clock() + HEARD_SILENT_FOR_MS
      // After an error of this side, such as a gap that cannot be filled, the worker would continue sending.
      if (endsCall(body)) stop(body[0] === 'error')
      sink.frame(body)
    },
    flush: () => sink.flush(),
    tick: (nowMs) => sink.tick(nowMs),
  }
  const send = (message: ControlMessage, worker: string) => {
    if (message.kind !== 'resend') return
    hub.tellWorker(worker, {
      ...message,
      kind: 'attach',
      callId: id,
      channel: hub.channel,
      label: listenerId,
    })
  }
  const call = hub.register({ ...original, id: listenerId }, watched, () => void lookOnce(), {
    send,
    silentForMs: SILENT_FOR_MS,
    clientLeft: () => stop(true),
  })

  function stop(detach: boolean): void {
    if (isOver) return
    isOver = true
    hub.forget(listenerId)
    if (detach && call.addressee !== null)
      hub.tellWorker(call.addressee, { kind: 'detach', callId: id, label: listenerId })
  }

  /** Replays the kept response from the next due frame. */
  async function replay(): Promise<boolean> {
    const kept = await archive.read(original)
    if (!kept || isOver) return isOver
    for (const [sequence, body] of kept.frames.entries()) call.accept(kept, sequence, body, clock())
    call.flush()
    return isOver
  }

  async function look(): Promise<void> {
    const where = await whereIsOriginal(original, deps)
    if (isOver) return
    if (where.kind === 'queued' || where.kind === 'running') misses = 0
    else if (await replay()) return
    else misses += 1
    if (isOver) return
    if (where.kind === 'running') return call.foundRunning(where.worker)
    const isEnded = where.kind === 'ended'
    if (misses < MISSES_MAX && !(isEnded && !hasFrames))
      return call.addressee === null ? undefined : call.probe()
    // Nothing will end the call, so its key must be released.
    if (!isEnded) await archive.forget(original)
    call.end(isEnded ? responseNotKept(id) : CALL_ERRORS.originalNotCompleted)
  }

  async function lookOnce(): Promise<void> {
    if (isLooking || isOver || clock() < silentUntil) return
    isLooking = true
    try {
      await look()
    } catch (error) {
      logger.warn({ err: error, callId: id }, 'lookup of a repeated call failed')
    } finally {
      isLooking = false
    }
  }

  void lookOnce()
  return call
}
