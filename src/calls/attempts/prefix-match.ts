/** Compares a text that comes in pieces with one that it is expected to begin with. */
export class PrefixMatch {
  readonly #expected: string
  #matched = 0

  constructor(expected: string) {
    this.#expected = expected
  }

  /** What of the expected text has been said so far. */
  get matched(): string {
    return this.#expected.slice(0, this.#matched)
  }

  /** True once all of it has been said. */
  get isComplete(): boolean {
    return this.#matched === this.#expected.length
  }

  /** What a piece says beyond the expected text; null when it says something else. */
  next(piece: string): string | null {
    const compared = Math.min(this.#expected.length - this.#matched, piece.length)
    if (!this.#expected.startsWith(piece.slice(0, compared), this.#matched)) return null
    this.#matched += compared
    return piece.slice(compared)
  }
}
