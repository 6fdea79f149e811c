import type {
  ChatDelta,
  CompletionMessage,
  FinishReason,
  TokenLogprob,
  ToolCallDelta,
} from '../../core/calls/completion.ts'
import type { FinishFrame, ReportedUsage, WholeFrame } from '../../core/calls/frames.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { ChunkRenderer, DONE_EVENT, usageBody } from './chat-format.ts'
import type { CompletionHead, ResponseFormat } from './completion-writer.ts'

/** The format of the extended contract: with reasoning and log probabilities, and usage in its place. */
export const extendedFormat = ({ includeUsage, asFunctions = false }: ExtendedOptions): ResponseFormat => ({
  stream: (head) => new ExtendedRenderer(head, includeUsage, asFunctions),
  whole: (head, frame) => renderWhole(head, frame, asFunctions),
})

interface ExtendedOptions {
  /** As the client says it. Usage has its own chunk where it is asked for, and is otherwise in the last one. */
  includeUsage: boolean | null
  /** The client sent `functions`: the first tool call is its `function_call`, the only one of a turn. */
  asFunctions?: boolean
}

const finishReason = (reason: FinishReason, asFunctions: boolean): FinishReason =>
  asFunctions && reason === 'tool_calls' ? 'function_call' : reason

function renderWhole(
  { id, created, model }: CompletionHead,
  [, , { logprobs, ...message }, reason, usage]: WholeFrame,
  asFunctions: boolean,
): string {
  const choice = {
    index: 0,
    message: { role: 'assistant', ...(asFunctions ? withFunctionCall(message) : message) },
    logprobs: logprobs ? logprobsBody(logprobs) : null,
    finish_reason: finishReason(reason, asFunctions),
  }
  return JSON.stringify({
    id,
    object: 'chat.completion',
    created,
    model,
    // Libraries require it; a text would name the target.
    system_fingerprint: null,
    choices: [choice],
    ...(usage && { usage: extendedUsage(usage) }),
  })
}

const withFunctionCall = ({ tool_calls: calls, ...message }: CompletionMessage) => ({
  ...message,
  ...(calls && { function_call: calls[0]!.function }),
})

const logprobsBody = (content: readonly TokenLogprob[]) => ({ content, refusal: null })

const extendedUsage = (usage: ReportedUsage) => ({
  ...usageBody(usage),
  prompt_tokens_details: {
    cached_tokens: usage.cachedTokens ?? 0,
    ...(usage.cacheWriteTokens !== undefined && { cache_write_tokens: usage.cacheWriteTokens }),
  },
  ...(usage.reasoningTokens !== undefined && {
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  }),
  ...costBody(usage),
})

/** What the call is charged: `cost` as clients of other gateways read it, `cost_usd` exactly. */
export function costBody({ chargePico }: ReportedUsage) {
  if (chargePico === undefined) return {}
  const exact = formatUsd(BigInt(chargePico))
  return { cost: Number(exact), cost_usd: exact }
}

class ExtendedRenderer extends ChunkRenderer {
  readonly #includesUsage: boolean | null
  readonly #asFunctions: boolean

  constructor(head: CompletionHead, includesUsage: boolean | null, asFunctions: boolean) {
    super(head)
    this.#includesUsage = includesUsage
    this.#asFunctions = asFunctions
  }

  override delta(delta: ChatDelta): string {
    if (this.#asFunctions && delta[0] === 'tool-calls') return this.#functionCalls(delta[1])
    if (delta[0] !== 'logprobs') return super.delta(delta)
    const logprobs = JSON.stringify(logprobsBody(delta[1]))
    return `${this.head},"choices":[{"index":0,"delta":{},"logprobs":${logprobs},"finish_reason":null}]}\n\n`
  }

  override finish([, reason, usage]: FinishFrame): string {
    const used = usage && this.#includesUsage !== false ? extendedUsage(usage) : null
    const ownChunk = used !== null && this.#includesUsage === true
    const last = this.lastChunk(finishReason(reason, this.#asFunctions), ownChunk ? null : used)
    return last + (ownChunk ? this.#usageChunk(used) : '') + DONE_EVENT
  }

  #functionCalls(deltas: readonly ToolCallDelta[]): string {
    const first = deltas.filter(({ index, function: call }) => index === 0 && call)
    return first.map(({ function: call }) => this.content('function_call', call)).join('')
  }

  #usageChunk(usage: object): string {
    return `${this.head},"choices":[],"usage":${JSON.stringify(usage)}}\n\n`
  }
}
