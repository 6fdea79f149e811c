import type { CallSink } from '../calls/relay/pending-call.ts'
import type { ResponseEnvelope } from '../core/calls/call-job.ts'
import type { FrameBody } from '../core/calls/frames.ts'
import { renderCompletion } from '../core/calls/render-completion.ts'
import { ApiError } from '../core/kernel/errors.ts'

/** Waits for the one answer of a non-streaming call. `body` resolves to the JSON text, or rejects with ApiError. */
export class CompletionCollector implements CallSink {
  readonly body: Promise<string>
  private readonly envelope: ResponseEnvelope
  private resolve!: (body: string) => void
  private reject!: (error: Error) => void

  constructor(envelope: ResponseEnvelope) {
    this.envelope = envelope
    this.body = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  frame(body: FrameBody): void {
    if (body[0] === 'error') this.reject(new ApiError(body[1].code, body[1].message, body[1]))
    if (body[0] !== 'completion') return
    const [, candidate, message, reason, usage] = body
    const { id, admittedAt, candidates, requestedModel } = this.envelope
    const head = {
      id,
      created: Math.floor(admittedAt / 1000),
      model: candidates[candidate]?.requestedModel ?? requestedModel,
    }
    this.resolve(renderCompletion(head, message, reason, usage))
  }

  flush(): void {
    // A whole answer comes in one frame; there is nothing to gather.
  }

  tick(): void {
    // A non-streaming client gets no keep-alives.
  }
}
