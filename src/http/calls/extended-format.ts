import type {
  ChatDelta,
  CompletionMessage,
  FinishReason,
  SignedReasoning,
  TokenLogprob,
  ToolCallDelta,
} from '../../core/calls/completion.ts'
import type { FinishFrame, ReportedUsage, WholeFrame } from '../../core/calls/frames.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { ChunkRenderer, DONE_EVENT, usageBody } from './chat-format.ts'
import type { CompletionHead, ResponseFormat } from './completion-writer.ts'
import type { SealReasoning } from './reasoning-box.ts'

/** The format of the extended contract: with reasoning and log probabilities, and usage in its place. */
export const extendedFormat = (options: ExtendedOptions): ResponseFormat => ({
  stream: (head) => new ExtendedRenderer(head, options),
  whole: (head, frame) => renderWhole(head, frame, options),
})

interface ExtendedOptions {
  /** As the client says it. Usage has its own chunk where it is asked for, and is otherwise in the last one. */
  includeUsage: boolean | null
  /** The client sent `functions`: the first tool call is its `function_call`, the only one of a turn. */
  asFunctions?: boolean
  /** Seals what the maker of a model wants back of its reasoning. */
  seal: SealReasoning
}

const finishReason = (reason: FinishReason, asFunctions: boolean): FinishReason =>
  asFunctions && reason === 'tool_calls' ? 'function_call' : reason

function renderWhole(
  { id, created, model }: CompletionHead,
  [, , { logprobs, signed, ...message }, reason, usage]: WholeFrame,
  { asFunctions = false, seal }: ExtendedOptions,
): string {
  const choice = {
    index: 0,
    message: {
      role: 'assistant',
      ...(asFunctions ? withFunctionCall(message) : message),
      ...(signed && { reasoning_details: [detailOf(signed, seal)] }),
    },
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
    ...(usage?.tier && { service_tier: usage.tier }),
    ...(usage && { usage: extendedUsage(usage) }),
  })
}

/** What clients of other gateways know to return with the message. */
const detailOf = (signed: readonly SignedReasoning[], seal: SealReasoning, index = 0) => ({
  type: 'reasoning.encrypted',
  data: seal({ text: '', signed }),
  id: null,
  format: 'unknown',
  index,
})

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
  readonly #seal: SealReasoning
  #details = 0

  constructor(head: CompletionHead, { includeUsage, asFunctions = false, seal }: ExtendedOptions) {
    super(head)
    this.#includesUsage = includeUsage
    this.#asFunctions = asFunctions
    this.#seal = seal
  }

  override delta(delta: ChatDelta): string {
    if (this.#asFunctions && delta[0] === 'tool-calls') return this.#functionCalls(delta[1])
    if (delta[0] === 'signed')
      return this.content('reasoning_details', [detailOf([delta[1]], this.#seal, this.#details++)])
    if (delta[0] !== 'logprobs') return super.delta(delta)
    const logprobs = JSON.stringify(logprobsBody(delta[1]))
    return `${this.head},"choices":[{"index":0,"delta":{},"logprobs":${logprobs},"finish_reason":null}]}\n\n`
  }

  override finish([, reason, usage]: FinishFrame): string {
    const used = usage && this.#includesUsage !== false ? extendedUsage(usage) : null
    const ownChunk = used !== null && this.#includesUsage === true
    const last = this.lastChunk(finishReason(reason, this.#asFunctions), ownChunk ? null : used, usage?.tier)
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
