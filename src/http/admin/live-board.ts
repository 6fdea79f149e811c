import type { ServerResponse } from 'node:http'
import type { LiveView } from '../../core/api/operations.ts'
import { whenResponseCloses } from '../event-stream.ts'

const EVERY_MS = 1_000
const LISTENERS_MAX = 50
/** Unread by a listener, then it is cut off. */
const UNREAD_MAX_BYTES = 512 * 1024

/**
 * The live board of one instance: one message a second, computed once for all who listen, and not at all while
 * nobody does.
 */
export class LiveBoard {
  readonly #compute: () => Promise<LiveView>
  readonly #listeners = new Set<ServerResponse>()
  #timer: NodeJS.Timeout | undefined

  constructor(compute: () => Promise<LiveView>) {
    this.#compute = compute
  }

  /** Whether one more may listen. */
  get hasRoom(): boolean {
    return this.#listeners.size < LISTENERS_MAX
  }

  /** Writes messages to a response whose head is sent, until it closes. */
  add(response: ServerResponse): void {
    this.#listeners.add(response)
    whenResponseCloses(response, () => {
      this.#listeners.delete(response)
      if (this.#listeners.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
    })
    if (this.#listeners.size > 0 && this.#timer === undefined) this.#schedule(0)
  }

  /** Ends every listener's stream. */
  close(): void {
    clearTimeout(this.#timer)
    for (const response of this.#listeners) response.end()
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(() => void this.#beat(), afterMs)
  }

  async #beat(): Promise<void> {
    const startedAt = performance.now()
    const message = `data: ${JSON.stringify(await this.#compute())}\n\n`
    for (const response of this.#listeners) {
      if (response.writableLength > UNREAD_MAX_BYTES) response.destroy()
      else response.write(message)
    }
    if (this.#listeners.size > 0) this.#schedule(Math.max(0, EVERY_MS - (performance.now() - startedAt)))
  }
}
