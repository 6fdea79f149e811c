import type {
  FinishReason,
  OnProgress,
  Progress,
  ToolCall,
  ToolCallDelta,
} from '../../../core/calls/completion.ts'

/** What a client was delivered of a broken answer. */
export interface DeliveredAnswer {
  content: string
  /** By their index. */
  toolCalls: ReadonlyMap<number, ToolCall>
}

/**
 * Lets an attempt take over a broken stream if and only if it begins with exactly what the client already has: the same
 * text, and the same tool calls with the same arguments. Compares before a byte is passed on, and stops the attempt at the
 * first difference. Ids of calls are not compared: each provider makes its own, and the client keeps the first.
 */
export class PrefixGuard {
  readonly #text: PrefixMatch
  readonly #calls: ReadonlyMap<number, CallMatch>
  readonly #onward: OnProgress
  readonly #stop: () => void
  #differs = false

  constructor({ content, toolCalls }: DeliveredAnswer, onward: OnProgress, stop: () => void) {
    this.#text = new PrefixMatch(content)
    this.#calls = new Map([...toolCalls].map(([index, call]) => [index, new CallMatch(call)]))
    this.#onward = onward
    this.#stop = stop
  }

  /** True once the attempt has produced exactly what was delivered. */
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
      // What goes beyond one part before the others are repeated comes in another order.
      if (beyond === null || !this.hasTakenOver) return this.#stopOnce()
      this.#onward(beyond)
    }
  }

  /** What a piece has beyond what was delivered; null where it differs. */
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

/** Compares a tool call that comes in pieces with one that was delivered. */
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

  /** What a piece has beyond the delivered call; null when it differs. */
  next({ index, function: called = {} }: ToolCallDelta): ToolCallDelta | 'repeated' | null {
    this.#hasBegun = true
    if (called.name && called.name !== this.#name) return null
    const beyond = this.#arguments.next(called.arguments ?? '')
    if (beyond === '') return 'repeated'
    return beyond === null ? null : { index, function: { arguments: beyond } }
  }
}

/** Compares a text that comes in pieces with one that it is expected to begin with. */
class PrefixMatch {
  readonly #expected: string
  #matched = 0

  constructor(expected: string) {
    this.#expected = expected
  }

  /** The part of the expected text that has come so far. */
  get matched(): string {
    return this.#expected.slice(0, this.#matched)
  }

  /** True once all of it has come. */
  get isComplete(): boolean {
    return this.#matched === this.#expected.length
  }

  /** What a piece has beyond the expected text; null when it differs. */
  next(piece: string): string | null {
    const compared = Math.min(this.#expected.length - this.#matched, piece.length)
    if (!this.#expected.startsWith(piece.slice(0, compared), this.#matched)) return null
    this.#matched += compared
    return piece.slice(compared)
  }
}

/**
 * Takes the prefill off the beginning of its continuation, where a provider repeats it: some return the whole message,
 * others only what they added. What looks like a repetition is held back until it is one, or is not.
 */
export class EchoGuard {
  readonly #match: PrefixMatch
  readonly #onward: OnProgress
  /** It is known whether the continuation repeats the prefill. */
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

  /**
   * The continuation has come to its end. False when it was cut in the middle of a possible repetition, where it is not
   * known what it adds.
   */
  finish(reason: FinishReason): boolean {
    if (!this.#isDecided && this.#match.matched !== '' && reason === 'length') return false
    this.#release()
    return true
  }

  /** It is no repetition: passes on what was held back. */
  #release(): void {
    if (this.#isDecided) return
    this.#isDecided = true
    if (this.#match.matched !== '') this.#onward(['text', this.#match.matched])
  }
}
