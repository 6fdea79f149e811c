import type { ToolCallDelta } from '../src/core/completion.ts'
import type { ContentListener } from './providers/provider.ts'

/**
 * Lets an attempt take over a broken answer if and only if its text begins with exactly what the client
 * already has: compares before a byte is passed on, and stops the attempt at the first difference.
 */
export class PrefixGuard implements ContentListener {
  readonly #expected: string
  readonly #onward: ContentListener
  readonly #stop: () => void
  #matched = 0
  #differs = false

  constructor(expected: string, onward: ContentListener, stop: () => void) {
    this.#expected = expected
    this.#onward = onward
    this.#stop = stop
  }

  /** True once the attempt has said all of what was expected and nothing else. */
  get hasTakenOver(): boolean {
    return !this.#differs && this.#matched === this.#expected.length
  }

  get differs(): boolean {
    return this.#differs
  }

  text(text: string): void {
    if (this.hasTakenOver) {
      this.#onward.text(text)
      return
    }
    if (this.#differs) return
    const rest = this.#expected.length - this.#matched
    const compared = Math.min(rest, text.length)
    if (!this.#expected.startsWith(text.slice(0, compared), this.#matched)) {
      this.#mismatch()
      return
    }
    this.#matched += compared
    if (text.length > compared) this.#onward.text(text.slice(compared))
  }

  refusal(text: string): void {
    if (this.hasTakenOver) this.#onward.refusal(text)
    else this.#mismatch()
  }

  toolCalls(deltas: ToolCallDelta[]): void {
    if (this.hasTakenOver) this.#onward.toolCalls(deltas)
    else this.#mismatch()
  }

  #mismatch(): void {
    if (this.#differs) return
    this.#differs = true
    this.#stop()
  }
}
