import type { FinishReason, OnProgress } from '../../core/calls/completion.ts'
import { PrefixMatch } from './prefix-guard.ts'

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
