import { Counter, type Registry } from 'prom-client'
import { CompletionBuilder, isDelta } from '../../core/calls/completion.ts'
import { endsCall, type FrameBody, sizeOf } from '../../core/calls/frames.ts'
import { type BoundedJson, boundedJson } from '../../core/json/bounded-json.ts'
import { createSharedRoom } from '../../core/kernel/shared-room.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import type { CallSink } from '../api/pending-call.ts'
import type { PromptLogOwner, PromptLogStore } from './prompt-log-store.ts'

/** Maximum stored bytes of a request, and of a completion. */
export const PROMPT_LOG_BYTES = 256 * 1024
/** Maximum characters of all unwritten logs of this process, shared by accounts. */
const HELD_CHARS_MAX = 64 * 1024 * 1024
const WRITES_AT_ONCE = 2

export interface LoggedPrompt extends PromptLogOwner {
  /** The return value of `readPrompt`. */
  request: BoundedJson
  /** Retention. */
  days: number
}

/**
 * Logs requests and completions of keys whose holders opted in. Best effort: it never delays a call, buffers a bounded
 * amount of text, and tries to store a log once. A lost log is counted and logged.
 */
export function createPromptLogs(options: {
  store: Pick<PromptLogStore, 'put'>
  registry: Registry
  logger: Logger
  heldCharsMax?: number
}) {
  const { store, registry, logger, heldCharsMax = HELD_CHARS_MAX } = options
  const outcomes = new Counter({
    name: 'shuntyard_prompt_logs_total',
    help: 'Prompt logs by result: stored, lost, or refused because the account has reached its maximum',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const held = createSharedRoom({ max: heldCharsMax, few: 2 * PROMPT_LOG_BYTES })
  let running = 0
  const waiting: Array<() => Promise<void>> = []
  let idle = Promise.withResolvers<void>()

  const lose = (callId: string, cause: string) => {
    outcomes.inc({ outcome: 'lost' })
    logger.warn({ callId, cause }, 'prompt log lost')
  }
  const writeNext = async () => {
    const write = waiting.shift()
    if (!write) {
      if (running === 0) idle.resolve()
      return
    }
    running += 1
    await write()
    running -= 1
    void writeNext()
  }

  const write = (call: LoggedPrompt, answer: BoundedJson, chars: number) => {
    waiting.push(async () => {
      try {
        const { request, days } = call
        const isStored = await store.put(
          call,
          {
            request: request.text,
            isRequestTruncated: request.isTruncated,
            answer: answer.text,
            isAnswerTruncated: answer.isTruncated,
          },
          days,
        )
        outcomes.inc({ outcome: isStored ? 'stored' : 'refused' })
      } catch (error) {
        lose(call.callId, causeOf(error))
      } finally {
        held.add(call.accountId, -chars)
      }
    })
    if (running < WRITES_AT_ONCE) void writeNext()
  }

  return {
    /** The logged part of a request: its body, or the task that was read from it. */
    readPrompt: (body: unknown): BoundedJson => boundedJson(body, PROMPT_LOG_BYTES),

    /** A sink that passes frames on, and keeps a copy of their content. Call `end` when the client is gone. */
    watch(sink: CallSink, call: LoggedPrompt): { sink: CallSink; end: () => void } {
      const answer = new CompletionBuilder()
      let whole: unknown
      let chars = 0
      let isTruncated = false
      let isFinished = false
      let state: 'open' | 'lost' | 'ended' = 'open'
      /** False, and the log is lost, if this process buffers too much text. */
      const hold = (more: number): boolean => {
        if (!held.fits(call.accountId, more)) {
          state = 'lost'
          held.add(call.accountId, -chars)
          lose(call.callId, 'too much text is held')
          return false
        }
        chars += more
        held.add(call.accountId, more)
        return true
      }
      /** A failure of a log must not fail its call. */
      const guarded =
        <Input extends unknown[]>(work: (...input: Input) => void) =>
        (...input: Input): void => {
          if (state !== 'open') return
          try {
            work(...input)
          } catch (error) {
            state = 'lost'
            held.add(call.accountId, -chars)
            lose(call.callId, causeOf(error))
          }
        }
      const copy = guarded((body: FrameBody) => {
        if (body[0] === 'finish' || body[0] === 'completion') isFinished = true
        if (body[0] === 'completion') {
          const { logprobs: _, signed: _signed, ...message } = body[2]
          whole = message
          return
        }
        if (!isDelta(body) || body[0] === 'logprobs' || body[0] === 'signed' || isTruncated) return
        const size = sizeOf(body)
        if (chars - call.request.text.length + size > PROMPT_LOG_BYTES) isTruncated = true
        else if (hold(size)) answer.add(body)
      })
      const end = guarded(() => {
        // Nothing was produced, and nothing is charged.
        if (!isFinished && answer.isEmpty) {
          state = 'ended'
          held.add(call.accountId, -chars)
          return
        }
        const { text, isTruncated: isCut } = boundedJson(whole ?? answer.message(), PROMPT_LOG_BYTES)
        if (whole !== undefined && !hold(text.length)) return
        whole = undefined
        state = 'ended'
        write(call, { text, isTruncated: isTruncated || isCut }, chars)
      })
      hold(call.request.text.length)
      return {
        end,
        sink: {
          frame(body) {
            const written = sink.frame(body)
            copy(body)
            if (endsCall(body)) end()
            return written
          },
          flush: () => sink.flush(),
          tick: (nowMs) => sink.tick(nowMs),
        },
      }
    },

    /** Resolves once all ended logs are written. */
    async close(): Promise<void> {
      if (running === 0 && waiting.length === 0) return
      idle = Promise.withResolvers()
      await idle.promise
    },
  }
}
