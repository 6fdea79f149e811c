import { deltaText, type OnProgress } from '../../../core/calls/completion.ts'
import { tokensOfBytes } from './call-usage.ts'

const WINDOW_MS = 30_000
/** A window evaluated this much after its end: the process was blocked and has not read the input yet. */
const LATE_MS = 500

export interface DripRule {
  /** Fewer tokens within 30 s count as too slow. */
  tokensMin: number
  /** Called for each slow window; returns whether to try another offer. */
  leaves: () => Promise<boolean>
}

/**
 * Measures the speed of a completion that the client has not seen, from its first token or reasoning. Stops the attempt
 * if hardly any tokens arrive and another offer is available.
 */
export class DripWatch {
  readonly #onward: OnProgress
  readonly #rule: DripRule
  readonly #stop: () => void
  #timer: NodeJS.Timeout | undefined
  /** Pieces of the current window. A piece has at least one token. */
  #pieces = 0
  #characters = 0
  /** Monotonic ms. */
  #windowEndsAt = 0
  #isOver = false
  #wasDrip = false

  constructor(onward: OnProgress, rule: DripRule, stop: () => void) {
    this.#onward = onward
    this.#rule = rule
    this.#stop = stop
  }

  /** The attempt was stopped for slowness. */
  get wasDrip(): boolean {
    return this.#wasDrip
  }

  readonly push: OnProgress = (progress) => {
    this.#pieces++
    this.#characters += progress[0] === 'thinking' ? progress[1] : deltaText(progress).length
    this.#timer ??= this.#start()
    this.#onward(progress)
  }

  /** The attempt is over. */
  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
  }

  #start(): NodeJS.Timeout {
    this.#windowEndsAt = performance.now() + WINDOW_MS
    return setInterval(() => void this.#judge(), WINDOW_MS)
  }

  async #judge(): Promise<void> {
    const now = performance.now()
    const isLate = now - this.#windowEndsAt > LATE_MS
    this.#windowEndsAt = now + WINDOW_MS
    const tokens = Math.max(this.#pieces, tokensOfBytes(this.#characters))
    this.#pieces = 0
    this.#characters = 0
    if (isLate || tokens >= this.#rule.tokensMin || !(await this.#rule.leaves()) || this.#isOver) return
    this.#wasDrip = true
    this.end()
    this.#stop()
  }
}
