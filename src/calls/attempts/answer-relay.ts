import { assembleToolCalls } from '../../core/calls/assemble-tool-calls.ts'
import type { CompletionMessage, ToolCallDelta } from '../../core/calls/completion.ts'
import type { ContentListener } from '../../providers/provider.ts'

/** Where a streamed answer goes. */
export interface AnswerSink {
  /** Once, before the first content; `candidate` indexes the envelope's candidates. */
  open(candidate: number): void
  text(text: string): void
  refusal(text: string): void
  toolCalls(deltas: ToolCallDelta[]): void
}

/**
 * The answer of one call as it grows. One that is streamed is passed on at once and stays; one that is
 * given whole is only kept, and dropped when its attempt fails.
 */
export class AnswerRelay implements ContentListener {
  #content = ''
  #refusal = ''
  #toolCalls: ToolCallDelta[] = []
  #candidate = 0
  #isOpen = false
  readonly #sink: AnswerSink | null

  /** `sink` is null for a call that is answered whole. */
  constructor(sink: AnswerSink | null) {
    this.#sink = sink
  }

  /** The text so far. */
  get content(): string {
    return this.#content
  }

  get isEmpty(): boolean {
    return this.#content === '' && this.isTextOnly
  }

  /** True while nothing but text has come, so that another attempt's text can be compared with it. */
  get isTextOnly(): boolean {
    return this.#refusal === '' && this.#toolCalls.length === 0
  }

  /** True when the client has seen content. */
  get isShown(): boolean {
    return this.#sink !== null && !this.isEmpty
  }

  /** Index of the candidate whose content came first. */
  get candidate(): number {
    return this.#candidate
  }

  /** An attempt begins at a candidate. */
  begin(candidate: number): void {
    if (this.isEmpty) this.#candidate = candidate
  }

  /** An attempt failed: drops what nobody has seen. */
  discardUnseen(): void {
    if (this.#sink !== null) return
    this.#content = ''
    this.#refusal = ''
    this.#toolCalls = []
  }

  /** Opens the answer if no content has; an empty answer is an answer. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#sink?.open(this.#candidate)
  }

  text(text: string): void {
    this.open()
    this.#content += text
    this.#sink?.text(text)
  }

  refusal(text: string): void {
    this.open()
    this.#refusal += text
    this.#sink?.refusal(text)
  }

  toolCalls(deltas: ToolCallDelta[]): void {
    this.open()
    for (const delta of deltas) this.#toolCalls.push(delta)
    this.#sink?.toolCalls(deltas)
  }

  /** The whole answer. */
  message(): CompletionMessage {
    const toolCalls = assembleToolCalls(this.#toolCalls)
    return {
      content: this.#content === '' && !this.isTextOnly ? null : this.#content,
      ...(this.#refusal !== '' && { refusal: this.#refusal }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    }
  }
}
