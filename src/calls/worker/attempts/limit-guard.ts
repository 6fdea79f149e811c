import type { OnProgress, Progress, ToolCallDelta } from '../../../core/calls/completion.ts'
import { hostedText } from '../../../core/calls/hosted-events.ts'
import { NATIVE_EVENT_CHARS, nativeSize, nativeText } from '../../../core/calls/messages-wire.ts'

/** The densest languages have 8 bytes a token in today's vocabularies, English 5. */
const BYTES_PER_TOKEN = 8
/** How far a completion may exceed its limit, since each vocabulary counts differently. */
const TIMES_LIMIT = 2
const TOKENS_BESIDE = 64
/** Some providers count reasoning outside the limit. This exceeds the largest budgets. */
const REASONING_TOKENS = 32_768

/**
 * Stops an attempt whose provider ignores the completion limit, and passes on at most a margin beyond it. Text is
 * measured in bytes, log probabilities by their number; reasoning, and content of native completions besides text, have
 * a separate margin. Arguments of tool calls are not cut within a piece: a tool that writes a file may get all of it in one,
 * which is there already and useless in part.
 */
export class LimitGuard {
  readonly #onward: OnProgress
  readonly #stop: () => void
  #answerBytesLeft: number
  #reasoningBytesLeft: number
  #logprobsLeft: number
  /** Native completions: the open block. */
  #openBlock: number | null = null
  #isOver = false

  /** @param limit the requested completion limit, in tokens */
  constructor(limit: number, onward: OnProgress, stop: () => void) {
    const tokens = TIMES_LIMIT * limit + TOKENS_BESIDE
    this.#answerBytesLeft = tokens * BYTES_PER_TOKEN
    this.#reasoningBytesLeft = (tokens + REASONING_TOKENS) * BYTES_PER_TOKEN
    this.#logprobsLeft = tokens
    this.#onward = onward
    this.#stop = stop
  }

  /** The attempt was stopped at its limit. */
  get isOver(): boolean {
    return this.#isOver
  }

  readonly push: OnProgress = (progress) => {
    if (this.#isOver) return
    const answerBytesBefore = this.#answerBytesLeft
    this.#measure(progress)
    const isWithin =
      this.#answerBytesLeft >= 0 ||
      this.#answerBytesLeft === answerBytesBefore ||
      (answerBytesBefore >= 0 && isArguments(progress))
    if (isWithin && Math.min(this.#reasoningBytesLeft, this.#logprobsLeft) >= 0) {
      this.#onward(progress)
      return
    }
    this.#isOver = true
    const rest =
      this.#answerBytesLeft < 0 && answerBytesBefore >= 0 ? shortened(progress, answerBytesBefore) : null
    if (rest) this.#onward(rest)
    if (this.#openBlock !== null)
      this.#onward(['native', { type: 'content_block_stop', index: this.#openBlock }])
    this.#stop()
  }

  #measure(progress: Progress): void {
    switch (progress[0]) {
      case 'text':
      case 'refusal':
        this.#answerBytesLeft -= Buffer.byteLength(progress[1])
        break
      case 'tool-calls':
        for (const delta of progress[1]) this.#answerBytesLeft -= callBytes(delta)
        break
      case 'reasoning':
        this.#reasoningBytesLeft -= Buffer.byteLength(progress[1])
        break
      case 'thinking':
        this.#reasoningBytesLeft -= progress[1]
        break
      case 'logprobs':
        this.#logprobsLeft -= progress[1].length
        break
      case 'native': {
        const event = progress[1]
        const text = nativeText(event)
        this.#answerBytesLeft -= Buffer.byteLength(text)
        if (text === '') this.#reasoningBytesLeft -= nativeSize(event) - NATIVE_EVENT_CHARS
        if (event.type === 'content_block_start') this.#openBlock = event.index
        if (event.type === 'content_block_stop') this.#openBlock = null
        break
      }
      case 'hosted':
        this.#answerBytesLeft -= Buffer.byteLength(hostedText(progress[1]))
        break
      case 'annotations':
      case 'signed':
        // The limit of a response bounds them.
        break
      case 'result':
        // A call that asks for a result has no limit of tokens.
        break
      default:
        progress satisfies never
    }
  }
}

/** A delta counts more than its arguments, because some providers send thousands of empty ones. */
const callBytes = ({ function: called }: ToolCallDelta): number =>
  1 + Buffer.byteLength(called?.name ?? '') + Buffer.byteLength(called?.arguments ?? '')

/** Whether a piece is of the arguments of tool calls alone. */
const isArguments = (progress: Progress): boolean =>
  progress[0] === 'tool-calls' ||
  (progress[0] === 'native' &&
    progress[1].type === 'content_block_delta' &&
    progress[1].delta.type === 'input_json_delta')

/** The first bytes of a piece; null if nothing fits. A whole completion is one piece. */
function shortened(progress: Progress, bytes: number): Progress | null {
  switch (progress[0]) {
    case 'text':
    case 'refusal':
      return [progress[0], firstBytes(progress[1], bytes)]
    case 'native': {
      const event = progress[1]
      if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') return null
      return ['native', { ...event, delta: { ...event.delta, text: firstBytes(event.delta.text, bytes) } }]
    }
    default:
      return null
  }
}

const encoder = new TextEncoder()

/** The part of a text that fits this many bytes, without incomplete characters. */
const firstBytes = (text: string, bytes: number): string =>
  text.slice(0, encoder.encodeInto(text, new Uint8Array(bytes)).read)
