import type { CallBody, CallEnvelope, Candidate, SettlementRecord } from '../src/core/call-job.ts'
import type { CompletionMessage } from '../src/core/completion.ts'
import { clampUsage, type Usage } from '../src/core/pricing.ts'
import { countPromptTokens, countTextTokens } from './providers/count-tokens.ts'

/** What a call is charged for. */
export interface CallUsage {
  usage: Usage
  usageSource: SettlementRecord['usageSource']
  /** The provider's figures were negative or beyond what the call allowed, and were clamped. */
  usageClamped: boolean
}

export const NOTHING_USED: CallUsage = {
  usage: { promptTokens: 0, completionTokens: 0 },
  usageSource: 'none',
  usageClamped: false,
}

/** The provider's own figures, held to what the call was held for. */
export function upstreamUsage(usage: Usage, envelope: CallEnvelope, candidate: Candidate): CallUsage {
  const held = clampUsage(usage, boundsOf(envelope, candidate))
  return { usage: held.usage, usageSource: 'upstream', usageClamped: held.clamped }
}

/** A count of our own, of the prompt and of what was delivered, for when the provider says nothing. */
export async function countedUsage(
  message: CompletionMessage,
  body: CallBody,
  envelope: CallEnvelope,
  candidate: Candidate,
): Promise<CallUsage> {
  const counted = {
    promptTokens: await countPromptTokens(body),
    completionTokens: await countTextTokens(textOf(message)),
  }
  // Our own count is an estimate; being held to the bounds says nothing about the provider.
  const { usage } = clampUsage(counted, boundsOf(envelope, candidate))
  return { usage, usageSource: 'counted', usageClamped: false }
}

const boundsOf = (envelope: CallEnvelope, candidate: Candidate): Usage => ({
  promptTokens: envelope.promptTokensBound,
  completionTokens: candidate.completionLimit,
})

/** Everything a model produced for an answer, as one text. */
function textOf({ content, refusal, tool_calls: toolCalls }: CompletionMessage): string {
  const calls = (toolCalls ?? []).map((call) => `${call.function.name} ${call.function.arguments}`)
  return [content ?? '', refusal ?? '', ...calls].filter((text) => text !== '').join('\n')
}
