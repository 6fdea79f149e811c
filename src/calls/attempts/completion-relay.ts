import {
  CompletionBuilder,
  type CompletionMessage,
  deltaText,
  type FinishReason,
  type OnProgress,
} from '../../core/calls/completion.ts'
import type { FrameBody } from '../../core/calls/frames.ts'
import { tokensOfBytes } from './call-usage.ts'

/**
 * The completion of one call as it grows. A streamed one is passed on at once and stays; one that is delivered whole
 * is only kept, and dropped when its attempt fails.
 */
export class CompletionRelay {
  #completion = new CompletionBuilder()
  #candidate = 0
  #isOpen = false
  readonly #send: ((frame: FrameBody) => void) | null

  /** `send` is null for a call that does not stream. */
  constructor(send: ((frame: FrameBody) => void) | null) {
    this.#send = send
  }

  /** The text so far. */
  get content(): string {
    return this.#completion.content
  }

  get isEmpty(): boolean {
    return this.#completion.isEmpty
  }

  /** Whether there is an answer, and not just reasoning. */
  get hasAnswer(): boolean {
    return this.#completion.hasAnswer
  }

  /** True while nothing but text has come, so that another attempt's text can be compared with it. */
  get isTextOnly(): boolean {
    return this.#completion.isTextOnly
  }

  /** True when the client has content. */
  get isDelivered(): boolean {
    return this.#send !== null && !this.isEmpty
  }

  /** Index of the candidate whose content came first. */
  get candidate(): number {
    return this.#candidate
  }

  /** An attempt begins at a candidate. */
  begin(candidate: number): void {
    if (this.isEmpty) this.#candidate = candidate
  }

  /** An attempt failed: drops what the client does not have. */
  discardUndelivered(): void {
    if (this.#send === null) this.#completion = new CompletionBuilder()
  }

  /** Opens the completion if no content has; an empty one is a completion. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#send?.(['open', this.#candidate])
  }

  /** Takes content; hidden reasoning is not passed on. */
  readonly push: OnProgress = (progress) => {
    if (progress[0] === 'thinking') return
    this.open()
    this.#completion.add(progress)
    this.#send?.(progress)
  }

  /** The whole completion. */
  message(): CompletionMessage {
    return this.#completion.message()
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
 * Lets an attempt take over a broken stream if and only if its text begins with exactly what the client
 * already has: compares before a byte is passed on, and stops the attempt at the first difference.
 */
export class PrefixGuard {
  readonly #match: PrefixMatch
  readonly #onward: OnProgress
  readonly #stop: () => void
  #differs = false

  constructor(expected: string, onward: OnProgress, stop: () => void) {
    this.#match = new PrefixMatch(expected)
    this.#onward = onward
    this.#stop = stop
  }

  /** True once the attempt has produced exactly the expected text. */
  get hasTakenOver(): boolean {
    return !this.#differs && this.#match.isComplete
  }

  get differs(): boolean {
    return this.#differs
  }

  readonly push: OnProgress = (progress) => {
    if (this.#differs || progress[0] === 'thinking') return
    if (this.hasTakenOver) return this.#onward(progress)
    const beyond = progress[0] === 'text' ? this.#match.next(progress[1]) : null
    if (beyond === null) {
      this.#differs = true
      this.#stop()
    } else if (beyond !== '') this.#onward(['text', beyond])
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

const WINDOW_MS = 30_000

export interface DripRule {
  /** Fewer tokens within 30 s are a drip. */
  tokensMin: number
  /** Asked at each drip: whether another offer is to be asked instead. */
  leaves: () => Promise<boolean>
}

/**
 * Watches how fast an answer comes that nobody has seen yet, from its first token or thought on. Stops the attempt
 * when hardly anything comes and another offer is there to be asked.
 */
export class DripWatch {
  readonly #onward: OnProgress
  readonly #rule: DripRule
  readonly #stop: () => void
  #timer: NodeJS.Timeout | undefined
  /** Of the present window. A piece is a token at least. */
  #pieces = 0
  #characters = 0
  #isOver = false
  #wasDrip = false

  constructor(onward: OnProgress, rule: DripRule, stop: () => void) {
    this.#onward = onward
    this.#rule = rule
    this.#stop = stop
  }

  /** The attempt was stopped because it dripped. */
  get wasDrip(): boolean {
    return this.#wasDrip
  }

  readonly push: OnProgress = (progress) => {
    this.#pieces++
    this.#characters += progress[0] === 'thinking' ? progress[1] : deltaText(progress).length
    this.#timer ??= setInterval(() => void this.#judge(), WINDOW_MS)
    this.#onward(progress)
  }

  /** The attempt is over. */
  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
  }

  async #judge(): Promise<void> {
    const tokens = Math.max(this.#pieces, tokensOfBytes(this.#characters))
    this.#pieces = 0
    this.#characters = 0
    if (tokens >= this.#rule.tokensMin || !(await this.#rule.leaves()) || this.#isOver) return
    this.#wasDrip = true
    this.end()
    this.#stop()
  }
}
