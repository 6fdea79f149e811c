import type { FinishReason, ToolCallDelta } from '../../core/calls/completion.ts'
import type { ContentListener } from '../../providers/provider.ts'
import { PrefixMatch } from './prefix-match.ts'

/**
 * Takes the prefill off the beginning of its continuation, where a provider repeats it: some return the whole message,
 * others only what they added. What looks like a repetition is held back until it is one, or is not.
 */
export class EchoGuard implements ContentListener {
  readonly #match: PrefixMatch
  readonly #onward: ContentListener
  /** It is known whether the continuation repeats the prefill. */
  #isDecided = false

  constructor(prefill: string, onward: ContentListener) {
    this.#match = new PrefixMatch(prefill)
    this.#onward = onward
  }

  text(text: string): void {
    if (this.#isDecided) {
      this.#onward.text(text)
      return
    }
    const beyond = this.#match.next(text)
    if (beyond === null) {
      this.#release()
      this.#onward.text(text)
      return
    }
    this.#isDecided = this.#match.isComplete
    if (beyond !== '') this.#onward.text(beyond)
  }

  refusal(text: string): void {
    this.#release()
    this.#onward.refusal(text)
  }

  toolCalls(deltas: ToolCallDelta[]): void {
    this.#release()
    this.#onward.toolCalls(deltas)
  }

  thinking(bytes: number): void {
    this.#onward.thinking?.(bytes)
  }

  /**
   * The continuation has come to its end. False when it was cut in the middle of what may be a repetition, so that
   * nobody can tell what it adds.
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
    if (this.#match.matched !== '') this.#onward.text(this.#match.matched)
  }
}
