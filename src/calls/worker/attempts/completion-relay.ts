import {
  CompletionBuilder,
  type CompletionMessage,
  type OnProgress,
  type ToolCall,
} from '../../../core/calls/completion.ts'
import type { FrameBody } from '../../../core/calls/frames.ts'

/**
 * The growing completion of one call. A streamed completion is passed on at once and kept; one that is delivered whole
 * is only stored, and dropped when its attempt fails.
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

  /** Whether there is content besides reasoning. */
  get hasContent(): boolean {
    return this.#completion.hasContent
  }

  /** True while there is only text. */
  get isTextOnly(): boolean {
    return this.#completion.isTextOnly
  }

  /** True while there are only text and tool calls, which can be compared with those of another attempt. */
  get isRepeatable(): boolean {
    return this.#completion.isRepeatable
  }

  /** By index, as far as received. */
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

  /** Starts an attempt at a candidate. */
  begin(candidate: number): void {
    if (this.isEmpty) this.#candidate = candidate
  }

  /** After a failed attempt: drops what the client does not have. */
  discardUndelivered(): void {
    if (this.#send === null) this.#completion = new CompletionBuilder()
  }

  /** Opens the completion if there was no content; it may be empty. */
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
