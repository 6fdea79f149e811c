import type { OnProgress, Progress, ToolCallDelta } from '../../../core/calls/completion.ts'
import { NATIVE_EVENT_CHARS, nativeSize, nativeText } from '../../../core/calls/native-message.ts'

/** The densest languages come to 8 bytes a token in today's vocabularies, and English to 5. */
const BYTES_PER_TOKEN = 8
/** How far an answer may exceed its limit, since each vocabulary counts differently. */
const TIMES_LIMIT = 2
const TOKENS_BESIDE = 64
/** Some providers count reasoning apart from the limit. So much of it is more than the largest budgets. */
const REASONING_TOKENS = 32_768

/**
 * Stops an attempt whose provider ignores the completion limit, and passes on no more than a margin beyond it. Text is
 * measured in bytes, log probabilities by their number, and reasoning, with what a native answer has besides text, has a
 * margin of its own. What is kept of one answer is bounded by that, streamed or whole.
 */
export class LimitGuard {
  readonly #onward: OnProgress
  readonly #stop: () => void
  #answerBytesLeft: number
  #reasoningBytesLeft: number
  #logprobsLeft: number
  /** Of a native answer: the block that has begun and not ended. */
  #openBlock: number | null = null
  #isOver = false

  /** @param limit what the candidate was asked for, in tokens */
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
    if (Math.min(this.#answerBytesLeft, this.#reasoningBytesLeft, this.#logprobsLeft) >= 0) {
      this.#onward(progress)
      return
    }
    this.#isOver = true
    const rest = this.#answerBytesLeft < 0 ? shortened(progress, answerBytesBefore) : null
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
      case 'result':
        // A call that asks for a result has no limit of tokens.
        break
      default:
        progress satisfies never
    }
  }
}

/** A delta is more than its arguments: some providers send thousands of empty ones. */
const callBytes = ({ function: called }: ToolCallDelta): number =>
  1 + Buffer.byteLength(called?.name ?? '') + Buffer.byteLength(called?.arguments ?? '')

/** The beginning of a piece of an answer, in so many bytes; null where it has none. A whole answer is one piece. */
function shortened(progress: Progress, bytes: number): Progress | null {
  switch (progress[0]) {
    case 'text':
    case 'refusal':
      return [progress[0], firstBytes(progress[1], bytes)]
    case 'tool-calls': {
      const calls = firstCalls(progress[1], bytes)
      return calls.length > 0 ? ['tool-calls', calls] : null
    }
    case 'native': {
      const event = progress[1]
      if (event.type !== 'content_block_delta') return null
      const { delta } = event
      if (delta.type === 'text_delta')
        return ['native', { ...event, delta: { ...delta, text: firstBytes(delta.text, bytes) } }]
      if (delta.type !== 'input_json_delta') return null
      const json = firstBytes(delta.partial_json, bytes)
      return ['native', { ...event, delta: { ...delta, partial_json: json } }]
    }
    default:
      return null
  }
}

/** The calls that fit, the last one with as much of its arguments as do. */
function firstCalls(deltas: readonly ToolCallDelta[], bytes: number): ToolCallDelta[] {
  const first: ToolCallDelta[] = []
  let left = bytes
  for (const delta of deltas) {
    const { function: called } = delta
    const besides = callBytes({ ...delta, function: { ...called, arguments: '' } })
    if (besides > left) break
    const json = firstBytes(called?.arguments ?? '', left - besides)
    first.push({ ...delta, function: { ...called, arguments: json } })
    left -= besides + Buffer.byteLength(json)
  }
  return first
}

const encoder = new TextEncoder()

/** As much of a text as takes so many bytes, without half a character. */
const firstBytes = (text: string, bytes: number): string =>
  text.slice(0, encoder.encodeInto(text, new Uint8Array(bytes)).read)
