import type {
  FinishReason,
  OnProgress,
  Progress,
  ToolCall,
  ToolCallDelta,
} from '../../../core/calls/completion.ts'

/** The part of a broken completion that the client received. */
export interface DeliveredCompletion {
  content: string
  /** By their index. */
  toolCalls: ReadonlyMap<number, ToolCall>
}

/**
 * Lets an attempt take over a broken stream if and only if it starts with exactly what the client already has: the same
 * text, and the same tool calls with the same arguments. It compares before any byte is passed on, and stops the
 * attempt at the first difference. Ids of calls are not compared: each provider generates its own, and the client keeps
 * the first.
 */
export class PrefixGuard {
  readonly #text: PrefixMatch
  readonly #calls: ReadonlyMap<number, CallMatch>
  readonly #onward: OnProgress
  readonly #stop: () => void
  #differs = false

  constructor({ content, toolCalls }: DeliveredCompletion, onward: OnProgress, stop: () => void) {
    this.#text = new PrefixMatch(content)
    this.#calls = new Map([...toolCalls].map(([index, call]) => [index, new CallMatch(call)]))
    this.#onward = onward
    this.#stop = stop
  }

  /** True once the attempt has produced exactly the delivered part. */
  get hasTakenOver(): boolean {
    return (
      !this.#differs && this.#text.isComplete && [...this.#calls.values()].every((call) => call.isComplete)
    )
  }

  get differs(): boolean {
    return this.#differs
  }

  readonly push: OnProgress = (progress) => {
    if (this.#differs || progress[0] === 'thinking') return
    for (const beyond of this.#beyond(progress)) {
      // Content beyond one part before the others are repeated means a different order.
      if (beyond === null || !this.hasTakenOver) return this.#stopOnce()
      this.#onward(beyond)
    }
  }

  /** The part of a piece beyond the delivered content; null if it differs. */
  #beyond(progress: Progress): Array<Progress | null> {
    switch (progress[0]) {
      case 'text': {
        const text = this.#text.next(progress[1])
        return text === '' ? [] : [text === null ? null : ['text', text]]
      }
      case 'tool-calls':
        return progress[1].flatMap((delta) => {
          const known = this.#calls.get(delta.index)
          const rest = known ? known.next(delta) : delta
          return rest === 'repeated' ? [] : [rest === null ? null : ['tool-calls', [rest]]]
        })
      default:
        return [this.hasTakenOver ? progress : null]
    }
  }

  #stopOnce(): void {
    this.#differs = true
    this.#stop()
  }
}

/** Compares a streamed tool call with a delivered one. */
class CallMatch {
  readonly #name: string
  readonly #arguments: PrefixMatch
  #hasBegun = false

  constructor({ function: { name, arguments: json } }: ToolCall) {
    this.#name = name
    this.#arguments = new PrefixMatch(json)
  }

  get isComplete(): boolean {
    return this.#hasBegun && this.#arguments.isComplete
  }

  /** The part of a piece beyond the delivered call; null if it differs. */
  next({ index, function: called = {} }: ToolCallDelta): ToolCallDelta | 'repeated' | null {
    this.#hasBegun = true
    if (called.name && called.name !== this.#name) return null
    const beyond = this.#arguments.next(called.arguments ?? '')
    if (beyond === '') return 'repeated'
    return beyond === null ? null : { index, function: { arguments: beyond } }
  }
}

/** Compares a streamed text with its expected start. */
class PrefixMatch {
  readonly #expected: string
  #matched = 0

  constructor(expected: string) {
    this.#expected = expected
  }

  /** The part of the expected text that was received so far. */
  get matched(): string {
    return this.#expected.slice(0, this.#matched)
  }

  /** True once the expected text was received completely. */
  get isComplete(): boolean {
    return this.#matched === this.#expected.length
  }

  /** The part of a piece beyond the expected text; null if it differs. */
  next(piece: string): string | null {
    const compared = Math.min(this.#expected.length - this.#matched, piece.length)
    if (!this.#expected.startsWith(piece.slice(0, compared), this.#matched)) return null
    this.#matched += compared
    return piece.slice(compared)
  }
}

/**
 * Removes the prefill from the start of its continuation if a provider repeats it: some return the whole message,
 * others only the continuation. A possible repetition is buffered until it is decided.
 */
export class EchoGuard {
  readonly #match: PrefixMatch
  readonly #onward: OnProgress
  /** Whether the continuation repeats the prefill is decided. */
  #isDecided = false

  constructor(prefill: string, onward: OnProgress) {
    this.#match = new PrefixMatch(prefill)
    this.#onward = onward
  }

  readonly push: OnProgress = (progress) => {
    if (this.#isDecided || progress[0] === 'thinking' || progress[0] === 'reasoning')
      return this.#onward(progress)
    const beyond = progress[0] === 'text' ? this.#match.next(progress[1]) : null
    if (beyond === null) {
      this.#release()
      return this.#onward(progress)
    }
    this.#isDecided = this.#match.isComplete
    if (beyond !== '') this.#onward(['text', beyond])
  }

  /** Ends the continuation. False if it was cut within a possible repetition, when its new content is unknown. */
  finish(reason: FinishReason): boolean {
    if (!this.#isDecided && this.#match.matched !== '' && reason === 'length') return false
    this.#release()
    return true
  }

  /** Passes on the buffered content, which is not a repetition. */
  #release(): void {
    if (this.#isDecided) return
    this.#isDecided = true
    if (this.#match.matched !== '') this.#onward(['text', this.#match.matched])
  }
}
