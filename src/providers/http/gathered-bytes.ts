/** A buffer of its own takes a hundred bytes: pieces below this are joined before that counts. */
const SMALL_BYTES = 1_024
const SMALL_PIECES_MAX = 1_024

/** Bytes that come in pieces, however small: a body of single bytes takes little more room than itself. */
export class GatheredBytes {
  #joined: Buffer[] = []
  #small: Buffer[] = []

  push(piece: Buffer): void {
    if (piece.length >= SMALL_BYTES) {
      this.#join()
      this.#joined.push(piece)
      return
    }
    if (this.#small.push(piece) >= SMALL_PIECES_MAX) this.#join()
  }

  /** Everything that came; nothing is kept of it. */
  take(): Buffer {
    this.#join()
    const all = Buffer.concat(this.#joined)
    this.#joined = []
    return all
  }

  #join(): void {
    if (this.#small.length > 0) this.#joined.push(Buffer.concat(this.#small))
    this.#small = []
  }
}
