import { Counter, type Registry } from 'prom-client'
import { CompletionBuilder, isDelta } from '../../core/calls/completion.ts'
import { endsCall, type FrameBody, sizeOf } from '../../core/calls/frames.ts'
import { type BoundedJson, boundedJson } from '../../core/json/bounded-json.ts'
import { createSharedRoom } from '../../core/kernel/shared-room.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import type { CallSink } from '../api/pending-call.ts'
import type { PromptLogOwner, PromptLogStore } from './prompt-log-store.ts'

/** Bytes of a request, and of an answer, that are stored. */
export const PROMPT_LOG_BYTES = 256 * 1024
/** Characters that all logs of this process hold until they are written; accounts share them. */
const HELD_CHARS_MAX = 64 * 1024 * 1024
const WRITES_AT_ONCE = 2

export interface LoggedCall extends PromptLogOwner {
  /** As `readPrompt` returned it. */
  request: BoundedJson
  /** How long it is kept. */
  days: number
}

/**
 * Keeps what is asked and answered with keys whose holders opted in. Best effort: it stands beside the way of the call, never
 * in it, holds a bounded amount of text, and tries to store a log once. One that is lost is counted and logged.
 */
export type PromptLogs = ReturnType<typeof createPromptLogs>

export function createPromptLogs(options: {
  store: Pick<PromptLogStore, 'put'>
  registry: Registry
  logger: Logger
  heldCharsMax?: number
}) {
  const { store, registry, logger, heldCharsMax = HELD_CHARS_MAX } = options
  const outcomes = new Counter({
    name: 'switchyard_prompt_logs_total',
    help: 'Prompt logs of keys that keep them: stored, lost, or refused where their account has as many bytes as it may',
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

  const write = (call: LoggedCall, answer: BoundedJson, chars: number) => {
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
    /** What of a request is kept: its body, or the task that it was read into. */
    readPrompt: (body: unknown): BoundedJson => boundedJson(body, PROMPT_LOG_BYTES),

    /** A sink that passes frames on, and keeps a copy of what they say. Call `end` when the client is gone. */
    watch(sink: CallSink, call: LoggedCall): { sink: CallSink; end: () => void } {
      const answer = new CompletionBuilder()
      let whole: unknown
      let chars = 0
      let isTruncated = false
      let isFinished = false
      let state: 'open' | 'lost' | 'ended' = 'open'
      /** False, and the log is lost, where this process holds too much text. */
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
      /** Whatever goes wrong with a log, its call goes on. */
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
          const { logprobs: _, ...message } = body[2]
          whole = message
          return
        }
        if (!isDelta(body) || body[0] === 'logprobs' || isTruncated) return
        const size = sizeOf(body)
        if (chars - call.request.text.length + size > PROMPT_LOG_BYTES) isTruncated = true
        else if (hold(size)) answer.add(body)
      })
      const end = guarded(() => {
        // Nothing was produced, and nobody pays for it.
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
            sink.frame(body)
            copy(body)
            if (endsCall(body)) end()
          },
          flush: () => sink.flush(),
          tick: (nowMs) => sink.tick(nowMs),
        },
      }
    },

    /** Resolves once everything is written that has ended. */
    async close(): Promise<void> {
      if (running === 0 && waiting.length === 0) return
      idle = Promise.withResolvers()
      await idle.promise
    },
  }
}
