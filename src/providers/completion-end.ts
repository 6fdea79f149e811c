import type { FinishReason } from '../core/calls/completion.ts'
import type { StreamSignal } from './provider.ts'

/**
 * Whether a streamed completion is over, by its finish reasons. Some servers put one into every chunk: it ends the
 * completion only if it comes alone, or if others of its chunks had none. A completion of one chunk may be over: its end
 * is waited for.
 */
export class CompletionEnd {
  /** The finish reason; null before there was one. */
  reason: FinishReason | null = null
  /** The finish reason ends the completion, and does not just stand beside a part of it. */
  isOver = false
  /** The finish reason of the event that is being read. */
  #reasonNow: FinishReason | null = null
  /** A finish reason may stand in every chunk: such is the wire, or more of the completion came after one. */
  #repeats: boolean
  /** Pieces of the completion came without a finish reason, and none after one. */
  #hasOpenPieces = false

  constructor(repeats: boolean) {
    this.#repeats = repeats
  }

  /** Notes a finish reason, in the event that is being read or in a whole reply. */
  note(reason: FinishReason): void {
    this.#reasonNow = reason
    this.reason = this.#repeats ? reason : (this.reason ?? reason)
  }

  /** Reads one event, which may note finish reasons, and judges by it whether the completion is over. */
  read(readEvent: () => StreamSignal): StreamSignal {
    const finishedBefore = this.reason !== null
    this.#reasonNow = null
    const signal = readEvent()
    const hasPiece = signal === 'content' || signal === 'thinking'
    if (hasPiece && finishedBefore) {
      this.#repeats = true
      this.#hasOpenPieces = false
      this.reason = this.#reasonNow ?? this.reason
    } else if (signal === 'content' && this.#reasonNow === null) this.#hasOpenPieces = true
    if (this.#reasonNow !== null) this.isOver = !hasPiece || this.#hasOpenPieces
    else if (hasPiece) this.isOver = false
    return signal
  }

  /** `over`: no more is to come but usage. `perhaps`: the end of the stream decides. `no`: more is expected. */
  get state(): 'over' | 'perhaps' | 'no' | 'unfinished' {
    if (this.reason === null) return 'unfinished'
    if (this.isOver) return this.#repeats ? 'perhaps' : 'over'
    return this.#repeats ? 'no' : 'perhaps'
  }
}
