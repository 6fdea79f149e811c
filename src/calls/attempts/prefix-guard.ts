import type { ToolCallDelta } from '../../core/calls/completion.ts'
import type { ContentListener } from '../../providers/provider.ts'
import { PrefixMatch } from './prefix-match.ts'

/**
 * Lets an attempt take over a broken answer if and only if its text begins with exactly what the client
 * already has: compares before a byte is passed on, and stops the attempt at the first difference.
 */
export class PrefixGuard implements ContentListener {
  readonly #match: PrefixMatch
  readonly #onward: ContentListener
  readonly #stop: () => void
  #differs = false

  constructor(expected: string, onward: ContentListener, stop: () => void) {
    this.#match = new PrefixMatch(expected)
    this.#onward = onward
    this.#stop = stop
  }

  /** True once the attempt has said all of what was expected and nothing else. */
  get hasTakenOver(): boolean {
    return !this.#differs && this.#match.isComplete
  }

  get differs(): boolean {
    return this.#differs
  }

  text(text: string): void {
    if (this.#differs) return
    const beyond = this.#match.next(text)
    if (beyond === null) this.#mismatch()
    else if (beyond !== '') this.#onward.text(beyond)
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
