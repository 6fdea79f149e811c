import type { ChatDelta, TokenLogprob } from '../../core/calls/completion.ts'
import type { FinishFrame, ReportedUsage, WholeFrame } from '../../core/calls/frames.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { ChunkRenderer, DONE_EVENT, usageBody } from './chat-format.ts'
import type { CompletionHead, ResponseFormat } from './completion-writer.ts'

/** The format of the extended contract: with reasoning and log probabilities, and usage in its place. */
export const extendedFormat = ({ includeUsage }: { includeUsage: boolean }): ResponseFormat => ({
  stream: (head) => new ExtendedRenderer(head, includeUsage),
  whole: renderWhole,
})

function renderWhole(
  { id, created, model }: CompletionHead,
  [, , { logprobs, ...message }, reason, usage]: WholeFrame,
): string {
  const choice = {
    index: 0,
    message: { role: 'assistant', ...message },
    logprobs: logprobs ? logprobsBody(logprobs) : null,
    finish_reason: reason,
  }
  return JSON.stringify({
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [choice],
    ...(usage && { usage: extendedUsage(usage) }),
  })
}

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

/** Usage has its own chunk after the last one, only if the client requests it. */
class ExtendedRenderer extends ChunkRenderer {
  readonly #includesUsage: boolean

  constructor(head: CompletionHead, includesUsage: boolean) {
    super(head)
    this.#includesUsage = includesUsage
  }

  override delta(delta: ChatDelta): string {
    if (delta[0] !== 'logprobs') return super.delta(delta)
    const logprobs = JSON.stringify(logprobsBody(delta[1]))
    return `${this.head},"choices":[{"index":0,"delta":{},"logprobs":${logprobs},"finish_reason":null}]}\n\n`
  }

  override finish([, reason, usage]: FinishFrame): string {
    const used = this.#includesUsage && usage ? this.#usageChunk(usage) : ''
    return this.lastChunk(reason, null) + used + DONE_EVENT
  }

  #usageChunk(usage: ReportedUsage): string {
    return `${this.head},"choices":[],"usage":${JSON.stringify(extendedUsage(usage))}}\n\n`
  }
}
