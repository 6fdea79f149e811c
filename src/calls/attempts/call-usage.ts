import type { Usage } from '../../core/billing/pricing.ts'
import type { CallBody, CallEnvelope, Candidate, SettlementRecord } from '../../core/calls/call-job.ts'
import type { CompletionMessage } from '../../core/calls/completion.ts'
import { likelyMedia, promptBoundOf } from '../../core/calls/prompt-bound.ts'
import {
  isPlausibleCompletion,
  mediaFault,
  type PromptFault,
  promptFault,
  type UsageLimits,
  withinHold,
} from '../../core/calls/usage-check.ts'
import { sumOfTokens } from '../../core/media/media-tokens.ts'
import { contentKindsOf, textLength } from '../../core/routing/request-shape.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { countPromptTokens, countTextTokens } from '../../providers/count-tokens.ts'
import { NOTHING_PRODUCED, type Production } from '../../providers/provider.ts'
import type { BreakerBoard } from '../../routing/circuit-breaker/breaker-board.ts'
import { type HiddenTime, hiddenTokens, tokensOfBytes } from './hidden-reasoning.ts'

/** What a call is charged for. */
export interface CallUsage {
  usage: Usage
  usageSource: SettlementRecord['usageSource']
  /** The provider's figures for the whole answer could not be, and ours took their place. */
  usageClamped: boolean
}

/** A call with its text, and who served it. */
export interface ServedCall {
  envelope: CallEnvelope
  body: CallBody
  served: Candidate
  /** Whose rates are charged, where that is another: what was held for it bounds the usage as well. */
  charged?: Candidate
}

/** What there is to go by. */
export interface Answer {
  /** What the model said. */
  text: string
  /** What the provider reported with the answer's end; null when nothing, or when there was no end. */
  finalUsage: Usage | null
  produced: Production
  /** What may have gone into reasoning out of sight; absent for an answer that came to its end. */
  hidden?: HiddenTime
}

/** How tokens are counted where nobody reports them. */
export interface TokenCounts {
  text: (text: string) => Promise<number>
  prompt: (body: CallBody, media: Candidate['media']) => Promise<number>
}

const COUNTS: TokenCounts = { text: countTextTokens, prompt: countPromptTokens }
/** For when the tokenizer fails: an answer that is there is charged all the same. */
export const ROUGH_COUNTS: TokenCounts = {
  text: async (text) => tokensOfBytes(Buffer.byteLength(text)),
  prompt: async ({ messages }, media) =>
    sumOfTokens(media?.likely) +
    tokensOfBytes(messages.reduce((sum, message) => sum + textLength(message), 0)),
}

/** What a provider reported that cannot be. */
export interface UsageFaults {
  prompt: PromptFault
  completion: boolean
}

const NO_FAULTS: UsageFaults = { prompt: null, completion: false }

/** The usage to charge, with what was wrong with the provider's report of it. */
export async function usageOf(
  answer: Answer,
  call: ServedCall,
  counts: TokenCounts = COUNTS,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const { finalUsage, produced } = answer
  const limits = limitsOf(answer, call.served)
  const reported = finalUsage ?? produced.usage
  const faults = reported ? faultsOf(reported, limits) : NO_FAULTS
  const { media } = call.served
  const prompt =
    reported && faults.prompt === null
      ? reported
      : { promptTokens: await counts.prompt(call.body, media), ...likelyMedia(media) }
  const completion =
    finalUsage && !faults.completion
      ? ({ tokens: finalUsage.completionTokens, source: 'upstream' } as const)
      : await ownCompletion(answer, limits, counts)
  const isTheirs = reported !== null && faults.prompt === null && completion.source === 'upstream'
  const used: CallUsage = {
    usage: withinHold(
      { ...prompt, completionTokens: completion.tokens },
      call.charged ? limitsOf(answer, call.charged) : limits,
    ),
    usageSource: isTheirs || completion.source !== 'upstream' ? completion.source : 'counted',
    usageClamped: finalUsage !== null && (faults.prompt !== null || faults.completion),
  }
  return { used, faults: finalUsage ? faults : NO_FAULTS }
}

/** A count of our own, of the prompt and of a text that was delivered. */
export async function countedUsage(text: string, call: ServedCall): Promise<CallUsage> {
  return (await usageOf({ text, finalUsage: null, produced: NOTHING_PRODUCED }, call)).used
}

/** What was produced as far as we know: what we saw of it and what was hidden, or what its provider said last. */
async function ownCompletion(
  { text, produced, hidden }: Answer,
  limits: UsageLimits,
  counts: TokenCounts,
): Promise<{ tokens: number; source: CallUsage['usageSource'] }> {
  const { usage } = produced
  const theirs = usage && isPlausibleCompletion(usage.completionTokens, limits) ? usage.completionTokens : 0
  const visible = await counts.text(text)
  if (theirs > visible) return { tokens: theirs, source: 'upstream' }
  const { tokens, isEstimate } = hiddenTokens(produced, visible, hidden)
  return { tokens: visible + tokens, source: isEstimate ? 'estimated' : 'counted' }
}

/** A report whose answer is impossibly long as well says nothing of our bound of the prompt. */
function faultsOf(reported: Usage, limits: UsageLimits): UsageFaults {
  const prompt = promptFault(reported.promptTokens, limits) ?? mediaFault(reported, limits)
  const completion = !isPlausibleCompletion(reported.completionTokens, limits)
  const isInflated = completion && reported.completionTokens > 0
  return { prompt: prompt === 'beyond-bound' && isInflated ? 'absurd' : prompt, completion }
}

function limitsOf({ text, produced }: Answer, served: Candidate): UsageLimits {
  const { thinkingBytes, reasoningTokens } = produced
  const { audioTokens, imageTokens } = promptBoundOf(served)
  return {
    promptTokensBound: served.promptTokensBound,
    contextLength: served.contextLength,
    completionLimit: served.completionLimit,
    hasMedia: served.media !== undefined,
    ...(served.rate.promptAudio !== undefined && { audioTokensBound: audioTokens }),
    ...(served.rate.promptImage !== undefined && { imageTokensBound: imageTokens }),
    contentBytes: Buffer.byteLength(text),
    mayReason: served.reasoning || thinkingBytes > 0 || reasoningTokens > 0,
  }
}

/** Everything a model said in an answer, as one text. */
export function textOf({ content, refusal, tool_calls: toolCalls }: CompletionMessage): string {
  const calls = (toolCalls ?? []).map((call) => `${call.function.name} ${call.function.arguments}`)
  return [content ?? '', refusal ?? '', ...calls].filter((text) => text !== '').join('\n')
}

/**
 * Says what cannot be in a provider's usage, and whose fault that is. Where our own bound of the prompt was too low,
 * the offer gets no more calls with such content for a while: each would cost us what nobody pays.
 */
export function doubtUsage(
  reported: Usage,
  { used: { usage }, faults }: { used: CallUsage; faults: UsageFaults },
  { envelope, body, served }: ServedCall,
  { board, logger }: { board: Pick<BreakerBoard, 'exclude'>; logger: Logger },
): void {
  if (faults.prompt === null && !faults.completion) return
  const about = {
    callId: envelope.id,
    requestId: envelope.requestId,
    offerId: served.offerId,
    reportedPrompt: reported.promptTokens,
    reportedCompletion: reported.completionTokens,
    chargedPrompt: usage.promptTokens,
    chargedCompletion: usage.completionTokens,
  }
  if (faults.completion || faults.prompt === 'absurd') {
    logger.error({ alarm: 'usage-absurd', ...about }, 'a provider reported a usage that cannot be')
  }
  if (faults.prompt !== 'beyond-bound') return
  const kinds = contentKindsOf(body)
  logger.error(
    { alarm: 'prompt-bound-exceeded', ...about, kinds, bound: served.promptTokensBound },
    'our bound of a prompt was too low; the offer gets no more prompts with such content for a while',
  )
  // On the client's own key the tokens cost us nothing.
  if (served.providerKeyId === undefined) board.exclude(served.offerId, kinds)
}
