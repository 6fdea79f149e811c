import type { CallEnvelope } from '../core/call-job.ts'
import { endsCall, type FrameError } from '../core/frames.ts'
import { newCallId } from '../core/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { CallSink } from '../relay/pending-call.ts'
import type { ReplyArchive } from '../relay/reply-archive.ts'
import type { ReplyHub } from '../relay/reply-hub.ts'
import type { DispatchedCall } from './dispatch-call.ts'
import type { Idempotency } from './idempotency.ts'

export interface AttachDependencies {
  hub: ReplyHub
  archive: ReplyArchive
  idempotency: Idempotency
  logger: Logger
}

const LOOK_AGAIN_MS = 500

const CAME_TO_NOTHING: FrameError = {
  code: 'overloaded',
  message: 'The call this Idempotency-Key stands for came to nothing. Retry to run it anew.',
  retryAfterSeconds: 1,
}

/**
 * Makes a repeat wait for a call that runs already, here or at another instance, or replays its kept
 * answer. Nothing is held or charged for it.
 */
export function attachCall(
  envelope: CallEnvelope,
  record: string,
  sink: CallSink,
  { hub, archive, idempotency, logger }: AttachDependencies,
): DispatchedCall {
  // A name of its own: the first caller may be waiting at this very instance.
  const label = newCallId()
  let heard = false
  const watched: CallSink = {
    frame(body) {
      heard = true
      if (endsCall(body)) stop()
      sink.frame(body)
    },
    flush: () => sink.flush(),
    tick: (nowMs) => sink.tick(nowMs),
  }
  const call = hub.register({ ...envelope, id: label, idempotencyRecord: record }, watched, () => undefined)

  /** The answer may be kept already, still be running at some worker, or have come to nothing. */
  async function look(): Promise<void> {
    try {
      const kept = await archive.read(envelope.id)
      if (heard || stopped) return
      if (kept) {
        for (const body of kept) watched.frame(body)
        watched.flush()
        hub.forget(label)
      } else if ((await idempotency.find(record))?.callId === envelope.id) {
        hub.tellWorkers({ kind: 'attach', callId: envelope.id, channel: hub.channel, label })
      } else if (!heard) {
        stop()
        call.end(CAME_TO_NOTHING)
        hub.forget(label)
      }
    } catch (error) {
      logger.warn({ err: error, callId: envelope.id }, 'repeat could not look for its answer')
    }
  }

  let stopped = false
  const timer = setInterval(() => {
    if (!heard) void look()
  }, LOOK_AGAIN_MS)
  function stop(): void {
    stopped = true
    clearInterval(timer)
  }
  void look()

  return {
    hangUp() {
      stop()
      hub.forget(label)
    },
  }
}
