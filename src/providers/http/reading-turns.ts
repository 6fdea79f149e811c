/** What may be read of one account's answers in one turn of the event loop, in bytes: a few milliseconds of work. */
const BYTES_PER_TURN = 32 * 1024

interface Reader {
  /** Read in this turn. */
  bytes: number
  /** Answers that stand still, the longest first. */
  readonly waiting: Array<() => void>
}

/**
 * Shares an event loop among the accounts whose answers are read on it. A provider may send faster than answers can be
 * read; what an account's answers bring beyond its share of a turn stays in their connections until later turns,
 * one answer a turn, so that others wait for a few milliseconds whatever comes.
 */
export class ReadingTurns {
  readonly #readers = new Map<string, Reader>()
  #scheduled = false

  /** Notes what was read. False when the account's share is used up: the answer is to stop until `resume` is called. */
  read(accountId: string, bytes: number, resume: () => void): boolean {
    let reader = this.#readers.get(accountId)
    if (!reader) {
      reader = { bytes: 0, waiting: [] }
      this.#readers.set(accountId, reader)
    }
    this.#schedule()
    reader.bytes += bytes
    if (reader.bytes <= BYTES_PER_TURN) return true
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
