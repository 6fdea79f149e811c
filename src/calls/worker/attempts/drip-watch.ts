import { deltaText, type OnProgress } from '../../../core/calls/completion.ts'
import { tokensOfBytes } from './call-usage.ts'

const WINDOW_MS = 30_000
/** A window that is judged so much later than it ended: the process stood still, and has not read what came. */
const LATE_MS = 500

export interface DripRule {
  /** Fewer tokens within 30 s are a drip. */
  tokensMin: number
  /** Asked at each drip: whether another offer is to be asked instead. */
  leaves: () => Promise<boolean>
}

/**
 * Watches how fast an answer comes that nobody has seen yet, from its first token or thought on. Stops the attempt
 * when hardly anything comes and another offer is there to be asked.
 */
export class DripWatch {
  readonly #onward: OnProgress
  readonly #rule: DripRule
  readonly #stop: () => void
  #timer: NodeJS.Timeout | undefined
  /** Of the present window. A piece is a token at least. */
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

  /** The attempt was stopped because it dripped. */
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
