import type { FastifyReply } from 'fastify'
import type { StandardKey } from '../../accounts/key-cache.ts'
import type { CallSink } from '../../calls/api/pending-call.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import { CompletionBuilder, type CompletionMessage, isDelta } from '../../core/calls/completion.ts'
import {
  type FinishFrame,
  type FrameBody,
  type FrameError,
  sizeOf,
  type WholeFrame,
} from '../../core/calls/frames.ts'
import type { Kind } from '../../core/calls/kinds/call-kinds.ts'
import { answerTexts, replacedFrames, replacedMessage } from '../../core/guardrails/answer-texts.ts'
import type { GuardedText } from '../../core/guardrails/guardrail.ts'
import { promptTexts } from '../../core/guardrails/prompt-texts.ts'
import { isObject } from '../../core/json/json-object.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { createSharedRoom } from '../../core/kernel/shared-room.ts'
import type { GuardedCall } from '../../guardrails/adapter.ts'
import {
  type AskGuardrailsOptions,
  createGuardrailAsker,
  GUARDED_CHARS_MAX,
  type Judgement,
} from '../../guardrails/ask-guardrails.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import { whenResponseCloses } from './event-stream.ts'
import type { AnswerGuard, CallGuards } from './serve-call.ts'

/** Prompts and answers that are judged at a time; alone, an account has 224 of them. More count as failed. */
const JUDGED_AT_ONCE = 512
/** While a guardrail is asked, its client still gets keep-alives. */
const TICK_MS = 1_000

/** Asks the guardrails of keys about the prompts and answers of their calls. */
export function createCallGuards(options: AskGuardrailsOptions & { logger: Logger }): CallGuards {
  const { logger } = options
  const asker = createGuardrailAsker(options)
  const room = createSharedRoom({ max: JUDGED_AT_ONCE, few: 1 })

  const judge = async (
    key: StandardKey,
    point: 'prompt' | 'completion',
    call: GuardedCall,
    texts: readonly GuardedText[],
    signal: AbortSignal,
  ): Promise<Judgement> => {
    const { accountId } = key
    const guardrails = (key.guardrails ?? []).filter(({ points }) => points.includes(point))
    if (!room.fits(accountId, 1)) {
      logger.warn({ accountId, point }, 'guardrails not asked: too many are')
      const isDenied = guardrails.some(({ onFailure }) => onFailure === 'deny')
      return isDenied ? { kind: 'failed' } : { kind: 'allowed', isReplaced: false, addedBytes: 0 }
    }
    room.add(accountId, 1)
    try {
      return await asker.judge(guardrails, point, call, texts, signal)
    } finally {
      room.add(accountId, -1)
    }
  }

  return {
    test: asker.test,

    async prompt(key, body, request, reply) {
      request.isGuarded = true
      const texts = promptTexts(body)
      const call = { ...callOf(key, request.id), model: String((body as { model?: unknown }).model ?? '') }
      const judgement = await judge(key, 'prompt', { ...call, user: userOf(body) }, texts, closed(reply))
      if (judgement.kind === 'denied') throw promptDenied(judgement)
      if (judgement.kind === 'failed') throw promptNotJudged()
      if (!judgement.isReplaced) return
      // The received bytes are no longer what is sent.
      request.sentJson = undefined
      request.bodyBytes += judgement.addedBytes
      if (judgement.addedBytes > 0) request.bodyReservation?.grow(judgement.addedBytes)
    },

    answer(key, { id: requestId }, reply, background): AnswerGuard | null {
      const guardrails = (key.guardrails ?? []).filter(({ points }) => points.includes('completion'))
      if (guardrails.length === 0) return null
      return (sink, { id, requestedModel }, kind, isCharged) => {
        const signal = background ?? closed(reply)
        const call = { ...callOf(key, requestId), callId: id, model: requestedModel }
        const tooLong = guardrails.some(({ onFailure }) => onFailure === 'deny')
        return guardAnswer(sink, {
          kind,
          signal,
          isHeld: guardrails.some(({ mayReplace }) => mayReplace),
          tooLong: tooLong ? answerNotJudged(isCharged) : null,
          logger,
          async judge(texts) {
            const judgement = await judge(key, 'completion', call, texts, signal)
            if (judgement.kind === 'denied') return answerDenied(judgement, isCharged)
            return judgement.kind === 'failed' ? answerNotJudged(isCharged) : null
          },
        })
      }
    },
  }
}

const callOf = ({ accountId, keyId, name }: StandardKey, id: string) => ({
  ...{ id, callId: null, user: null, accountId },
  key: { id: keyId, name },
})

/** The end user, as the wires name it. */
function userOf(body: object): string | null {
  const { user, metadata } = body as { user?: unknown; metadata?: unknown }
  const named = user ?? (isObject(metadata) ? metadata.user_id : null)
  return typeof named === 'string' ? named : null
}

/** Aborts when the client is gone. */
function closed({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  whenResponseCloses(raw, () => controller.abort())
  return controller.signal
}

type Denial = Extract<Judgement, { kind: 'denied' }>

const reasonOf = ({ code, message }: Denial) => `(${code})${message ? `: ${message}` : '.'}`

const promptDenied = (denial: Denial) =>
  new ApiError(
    'guardrail_denied',
    `A guardrail of this account denied the prompt, and nothing is charged ${reasonOf(denial)}`,
    { metadata: { guardrail_code: denial.code } },
  )

const promptNotJudged = () =>
  new ApiError(
    'guardrail_unavailable',
    'A guardrail of this account did not judge the prompt, and nothing is charged. Retry shortly, or see that its service answers.',
    { retryAfterSeconds: 1 },
  )

const charged = (isCharged: boolean) => (isCharged ? 'the call is charged' : 'nothing is charged')

const answerDenied = (denial: Denial, isCharged: boolean): FrameError => ({
  code: 'guardrail_denied',
  message: `A guardrail of this account denied the answer, and ${charged(isCharged)} ${reasonOf(denial)}`,
  metadata: { guardrail_code: denial.code },
})

const answerNotJudged = (isCharged: boolean): FrameError => ({
  code: 'guardrail_unavailable',
  message: `A guardrail of this account did not judge the answer, and ${charged(isCharged)}. See that its service answers.`,
  shouldRetry: false,
})

/** @internal */
export interface GuardedAnswer {
  kind: Kind
  /** Aborts when the answer has no reader any more. */
  signal: AbortSignal
  /** Whether a stream is held back until its end, since it may be replaced. */
  isHeld: boolean
  /** The end of a stream that is too long to be judged; null: it passes. */
  tooLong: FrameError | null
  /** Asks about an answer, and replaces its texts. Null: it may pass. */
  judge: (texts: readonly GuardedText[]) => Promise<FrameError | null>
  logger: Pick<Logger, 'error'>
}

/**
 * A sink before that of an answer, which gets its end once that was judged; a stream that is held back comes with its
 * end. What was denied ends with an error, and was produced and is charged nevertheless.
 */
export function guardAnswer(sink: CallSink, call: GuardedAnswer): CallSink {
  const { kind, signal, isHeld, tooLong, judge, logger } = call
  let state: 'watching' | 'passing' | 'dropping' = 'watching'
  const builder = new CompletionBuilder()
  let held: FrameBody[] = []
  let chars = 0

  const whole = async ([, candidate, message, ...rest]: WholeFrame): Promise<FrameBody> => {
    const parts = new Map<string, string>()
    const refusal = await judge(answerTexts(message, kind, parts))
    if (refusal) return ['error', refusal]
    const judged: CompletionMessage = parts.size > 0 ? replacedMessage(message, parts) : message
    return ['completion', candidate, judged, ...rest]
  }
  /** The last frame of a stream, after what was held back of it. */
  const end = async (last: FinishFrame | readonly ['error', FrameError]): Promise<FrameBody> => {
    const parts = new Map<string, string>()
    const refusal = await judge(answerTexts(builder.message(), kind, parts))
    if (refusal) return ['error', refusal]
    const calls = [...builder.toolCalls.keys()].sort((a, b) => a - b)
    if (!signal.aborted) release(parts.size > 0 ? replacedFrames(held, parts, calls) : held)
    return last
  }
  const release = (frames: readonly FrameBody[]) => {
    for (const frame of frames) void sink.frame(frame)
    held = []
  }
  /** Passes on the last frame once it is known. */
  const later = async (judging: Promise<FrameBody>): Promise<void> => {
    const timer = setInterval(() => sink.tick(Date.now()), TICK_MS)
    const last = await judging.catch((error): FrameBody => {
      logger.error({ cause: causeOf(error) }, 'answer not guarded')
      return ['error', CALL_ERRORS.failedInside]
    })
    clearInterval(timer)
    if (signal.aborted) return
    await sink.frame(last)
    sink.flush()
  }

  return {
    frame(body) {
      switch (body[0]) {
        case 'completion':
          return later(whole(body))
        case 'finish':
          if (state === 'watching') return later(end(body))
          return sink.frame(state === 'passing' || !tooLong ? body : ['error', tooLong])
        case 'error':
          return state === 'watching' && held.length > 0 ? later(end(body)) : sink.frame(body)
      }
      if (state === 'dropping') return
      if (state === 'watching' && isDelta(body)) {
        builder.add(body)
        chars += sizeOf(body)
      }
      if (state === 'passing' || !isHeld) void sink.frame(body)
      else held.push(body)
      if (chars <= GUARDED_CHARS_MAX || state === 'passing') return
      if (tooLong) {
        state = 'dropping'
        held = []
      } else {
        state = 'passing'
        release(held)
      }
    },
    flush: () => sink.flush(),
    tick: (nowMs) => sink.tick(nowMs),
  }
}
