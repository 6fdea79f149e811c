import type { FinishReason, OnProgress } from '../../core/calls/completion.ts'

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
    if (this.#isDecided || progress[0] === 'thinking') return this.#onward(progress)
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
