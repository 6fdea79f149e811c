import {
  CompletionBuilder,
  type CompletionMessage,
  deltaText,
  type OnProgress,
  type ToolCall,
} from '../../core/calls/completion.ts'
import type { FrameBody } from '../../core/calls/frames.ts'
import { tokensOfBytes } from './call-usage.ts'

/**
 * The completion of one call as it grows. A streamed one is passed on at once and stays; one that is delivered whole
 * is only kept, and dropped when its attempt fails.
 */
export class CompletionRelay {
  #completion = new CompletionBuilder()
  #candidate = 0
  #isOpen = false
  readonly #send: ((frame: FrameBody) => void) | null

  /** `send` is null for a call that does not stream. */
  constructor(send: ((frame: FrameBody) => void) | null) {
    this.#send = send
  }

  /** The text so far. */
  get content(): string {
    return this.#completion.content
  }

  get isEmpty(): boolean {
    return this.#completion.isEmpty
  }

  /** Whether there is an answer, and not just reasoning. */
  get hasAnswer(): boolean {
    return this.#completion.hasAnswer
  }

  /** True while nothing but text has come. */
  get isTextOnly(): boolean {
    return this.#completion.isTextOnly
  }

  /** True while nothing has come but text and tool calls, with which another attempt's can be compared. */
  get isRepeatable(): boolean {
    return this.#completion.isRepeatable
  }

  /** By their index, as far as they have come. */
  get toolCalls(): ReadonlyMap<number, ToolCall> {
    return this.#completion.toolCalls
  }

  /** True when the client has content. */
  get isDelivered(): boolean {
    return this.#send !== null && !this.isEmpty
  }

  /** Index of the candidate whose content came first. */
  get candidate(): number {
    return this.#candidate
  }

  /** An attempt begins at a candidate. */
  begin(candidate: number): void {
    if (this.isEmpty) this.#candidate = candidate
  }

  /** An attempt failed: drops what the client does not have. */
  discardUndelivered(): void {
    if (this.#send === null) this.#completion = new CompletionBuilder()
  }

  /** Opens the completion if no content has; an empty one is a completion. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#send?.(['open', this.#candidate])
  }

  /** Takes content; hidden reasoning is not passed on. */
  readonly push: OnProgress = (progress) => {
    if (progress[0] === 'thinking') return
    this.open()
    this.#completion.add(progress)
    this.#send?.(progress)
  }

  /** The whole completion. */
  message(): CompletionMessage {
    return this.#completion.message()
  }
}

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
