import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoredResponseStore, TurnToStore } from '../../calls/stored-responses/stored-response-store.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { FinishFrame, FrameError, WholeFrame } from '../../core/calls/frames.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import type { CompletionHead, CompletionWriter } from '../calls/completion-writer.ts'
import type { ResponsesFormat } from '../calls/responses-format.ts'

/** A response that is to be stored with its input. */
export interface StoredCall extends Pick<TurnToStore, 'accountId' | 'keyId' | 'previousId'> {
  /** The items of the input, JSON. */
  input: Promise<string>
  format: ResponsesFormat
  store: Pick<StoredResponseStore, 'put' | 'end' | 'delete'>
  logger: Logger
}

const WRITTEN_A_TURN_CHARS = 256 * 1024

/** The JSON of items, a part in each turn of the event loop: a history of an agent has megabytes. */
export async function writeInTurns(items: readonly object[]): Promise<string> {
  const written: string[] = []
  let chars = 0
  for (const item of items) {
    const text = JSON.stringify(item)
    written.push(text)
    chars += text.length
    if (chars < WRITTEN_A_TURN_CHARS) continue
    chars = 0
    await nextTurn()
  }
  return `[${written.join(',')}]`
}

/** The client waits for its response until it is stored. */
const STORED_WITHIN_MS = 2_000

/**
 * Stores a response before its end is sent, which says whether it is stored: without PostgreSQL it is not, and the call
 * is complete nevertheless. A response that failed is not stored.
 * @param isGone whether the client has left
 */
export function storeBeforeEnd(
  writer: CompletionWriter,
  envelope: ResponseEnvelope,
  call: StoredCall,
  isGone: () => boolean,
): CompletionWriter {
  const { format, logger } = call
  const end = async (frame: FinishFrame | WholeFrame) => {
    format.isStored = true
    const response = JSON.stringify(format.responseOf(envelope, frame))
    format.isStored = !isGone() && (await isStored(envelope, response, call))
    await writer.frame(frame)
    writer.flush()
  }
  return {
    body: writer.body,
    frame(body) {
      if (body[0] === 'error') format.isStored = false
      if (body[0] !== 'finish' && body[0] !== 'completion') return writer.frame(body)
      return end(body).catch((error) => {
        logger.error({ err: error, callId: envelope.id }, 'end of a stored response failed')
        void writer.frame(['error', CALL_ERRORS.failedInside])
      })
    },
    flush: () => writer.flush(),
    tick: (nowMs) => writer.tick(nowMs),
  }
}

/** False if the response could not be stored, or not in time; then it is not stored later either. */
async function isStored(
  { id: callId }: ResponseEnvelope,
  response: string,
  { accountId, keyId, previousId, input, store, logger }: StoredCall,
): Promise<boolean> {
  const refuse = (cause: string) => {
    logger.warn({ callId, cause }, 'response not stored')
    return false
  }
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<'overdue'>((resolve) => {
    timer = setTimeout(() => resolve('overdue'), STORED_WITHIN_MS)
  })
  const put = input.then((items) =>
    store.put({ ...{ callId, accountId, keyId, previousId, response }, input: items, isRunning: false }),
  )
  try {
    const result = await Promise.race([put, overdue])
    if (result !== 'overdue') return result
    const undo = async () => (await put) && (await store.delete({ accountId, keyId }, callId))
    undo().catch((error) => refuse(causeOf(error)))
    return refuse('no response in time')
  } catch (error) {
    return refuse(causeOf(error))
  } finally {
    clearTimeout(timer)
  }
}

const ENDS_STORED_MAX = 30
const ENDS_STORED_EVERY_MS = 1_000

/** The response of a call in background, which is stored as running before the call starts. */
export interface BackgroundResponse {
  /** The running response, JSON. */
  running: string
  /** Ends the stored response with a frame of its call. */
  writer: (envelope: ResponseEnvelope) => CompletionWriter
  /** The call is over; without an end it was cancelled. */
  over(): void
}

/**
 * @param head of the call that is about to start
 * @param ended called once the end is stored, or cannot be
 */
export function backgroundResponse(
  head: CompletionHead,
  call: Omit<StoredCall, 'input'>,
  ended: () => void,
): BackgroundResponse {
  const { accountId, format, store, logger } = call
  let hasEnded = false
  const end = async (last: object) => {
    if (hasEnded) return
    hasEnded = true
    const response = JSON.stringify(last)
    for (let attempt = 1; ; attempt++) {
      try {
        await store.end({ callId: head.id, accountId, response })
        break
      } catch (error) {
        logger.warn({ callId: head.id, cause: causeOf(error) }, 'end of a background response not stored')
        if (attempt === ENDS_STORED_MAX) break
        await new Promise((resolve) => setTimeout(resolve, ENDS_STORED_EVERY_MS))
      }
    }
    ended()
  }
  const failed = (error: FrameError) =>
    format.failed(head, format.output(head), new ApiError(error.code, error.message))
  const running = JSON.stringify(format.response(head, 'queued'))
  return {
    running,
    writer: (envelope) => ({
      body: Promise.resolve(running),
      frame(body) {
        if (body[0] === 'error') void end(failed(body[1]))
        else if (body[0] === 'completion') void end(format.responseOf(envelope, body))
      },
      flush: () => undefined,
      tick: () => undefined,
    }),
    over: () => void end(format.response(head, 'cancelled')),
  }
}
