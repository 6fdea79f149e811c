/** The bytes of one account's responses that are read per turn of the event loop: a few milliseconds of work. */
const BYTES_PER_TURN = 32 * 1024

interface Reader {
  /** Bytes that were read in this turn. */
  bytes: number
  /** Paused responses, the longest paused first. */
  readonly waiting: Array<() => void>
}

/**
 * Divides an event loop among the accounts whose responses it reads. A provider may send faster than responses can be
 * read. The data of an account that exceeds its share of a turn stays in its connections until later turns, which
 * read one response each, so that other accounts wait for a few milliseconds at most.
 */
export class ReadingTurns {
  readonly #readers = new Map<string, Reader>()
  #scheduled = false

  /**
   * Notes bytes that were read. False if the account's share is used: the response must pause until `resume` is called.
   * @param resume null where the rest of the response is ignored
   */
  read(accountId: string, bytes: number, resume: (() => void) | null): boolean {
    let reader = this.#readers.get(accountId)
    if (!reader) {
      reader = { bytes: 0, waiting: [] }
      this.#readers.set(accountId, reader)
    }
    this.#schedule()
    reader.bytes += bytes
    if (reader.bytes <= BYTES_PER_TURN || !resume) return true
    reader.waiting.push(resume)
    return false
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#scheduled = false
    for (const [accountId, reader] of [...this.#readers]) {
      const resume = reader.waiting.shift()
      if (!resume) {
        this.#readers.delete(accountId)
        continue
      }
      reader.bytes = 0
      this.#schedule()
      resume()
    }
  }
}
