/** A Buffer object takes about 100 bytes of memory, so that pieces smaller than this are joined. */
const SMALL_BYTES = 1_024
const SMALL_PIECES_MAX = 1_024

/** Joins bytes that come in pieces. Many small pieces take little more memory than their bytes. */
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

  /** Returns the bytes and removes them. */
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
