import { promptTokensCovered } from '../../../core/billing/pricing.ts'
import {
  type AttemptOutcome,
  NOTHING_PRODUCED,
  type Production,
} from '../../../core/calls/attempt-outcome.ts'
import type { CallEnvelope, Candidate } from '../../../core/calls/call-job.ts'
import type { CallUsage } from '../../../core/calls/call-outcome.ts'
import type { CompletionMessage } from '../../../core/calls/completion.ts'
import { contentKindsOf } from '../../../core/calls/kinds/call-kind.ts'
import { type CallContent, kindOf } from '../../../core/calls/kinds/call-kinds.ts'
import { resultUsage } from '../../../core/calls/kinds/result-usage.ts'
import { nativeTexts } from '../../../core/calls/messages-wire.ts'
import type { PromptFault, Usage, UsageFaults } from '../../../core/calls/usage.ts'
import { readRates } from '../../../core/catalog/token-rates.ts'
import { sumOfTokens } from '../../../core/media/media-tokens.ts'
import { learnedFrom, tokensPossible } from '../../../core/routing/learned-tokens.ts'
import { likelyMedia, promptBoundOf } from '../../../core/text-tokens/prompt-tokens.ts'
import type { BreakerBoard } from '../../../offer-health/circuit-breaker/breaker-board.ts'
import type { Logger } from '../../../platform/observability/logger.ts'
import { countPromptTokens, countTextTokens } from '../../../providers/count-tokens.ts'

/** A call with its text, and the candidate that served it. */
export interface ServedCall {
  envelope: CallEnvelope
  content: CallContent
  served: Candidate
  /** The candidate whose rates are charged, if another: its hold bounds the usage as well. */
  charged?: Candidate
}

/** What there is to go by. */
export interface Answer {
  /** What the model said. */
  text: string
  /** The usage that the provider reported at the end; null if none, or if there was no end. */
  finalUsage: Usage | null
  produced: Production
  /** The text contains reasoning, possibly abridged. */
  showsReasoning?: boolean
  /** Times of possible hidden reasoning; absent for a finished completion. */
  hidden?: HiddenTime
}

/** How tokens are counted if they are not reported. */
export interface TokenCounts {
  text: (text: string) => Promise<number>
  prompt: (content: CallContent, media: Candidate['media']) => Promise<number>
}

export const COUNTS: TokenCounts = { text: countTextTokens, prompt: countPromptTokens }
/** Used when the tokenizer fails: an existing completion is still charged. */
export const ROUGH_COUNTS: TokenCounts = {
  text: async (text) => tokensOfBytes(Buffer.byteLength(text)),
  prompt: async (content, media) =>
    sumOfTokens(media?.likely) +
    tokensOfBytes(
      kindOf(content)
        .texts(content)
        .reduce((sum, { length }) => sum + length, 0),
    ),
}

const NO_FAULTS: UsageFaults = { prompt: null, completion: false }

/** The usage to charge, and the faults of the provider's report. */
export function usageOf(
  answer: Answer,
  call: ServedCall,
  counts: TokenCounts = COUNTS,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const { envelope, content, served } = call
  if (kindOf(content).asksFor === 'completion') return completionUsage(answer, call, counts)
  const count = () => counts.prompt(content, served.media)
  return resultUsage(answer.finalUsage, content, served, () => tokensHeld(served, 0, envelope), count)
}

async function completionUsage(
  answer: Answer,
  call: ServedCall,
  counts: TokenCounts,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const { finalUsage, produced } = answer
  const limits = limitsOf(answer, call.served)
  const reported = finalUsage ?? produced.usage
  const faults = reported ? faultsOf(reported, limits) : NO_FAULTS
  const { envelope, content, served, charged = served } = call
  const { media } = served
  const theirs = faults.prompt === 'absurd' ? null : reported
  const prompt = theirs ?? {
    ...usesOf(reported ?? undefined),
    promptTokens: await counts.prompt(content, media),
    ...likelyMedia(media),
  }
  const completion =
    finalUsage && !faults.completion
      ? ({ tokens: finalUsage.completionTokens, source: 'upstream' } as const)
      : await ownCompletion(answer, limits, counts)
  const held = charged === served ? limits : limitsOf(answer, charged)
  const usage = withinHold(
    { ...prompt, completionTokens: completion.tokens },
    theirs !== null && theirs.promptTokens > held.promptTokensBound
      ? { ...held, promptTokensBound: tokensHeld(charged, completion.tokens, envelope) }
      : held,
  )
  const isCut =
    theirs !== null &&
    (usage.promptTokens < theirs.promptTokens ||
      (theirs.webSearches ?? 0) > (limits.uses?.webSearches ?? 0) ||
      partsFault(theirs, limits) !== null)
  const isTheirs = theirs !== null && !isCut && completion.source === 'upstream'
  const used: CallUsage = {
    usage,
    usageSource: isTheirs || completion.source !== 'upstream' ? completion.source : 'counted',
    usageClamped: finalUsage !== null && (theirs === null || isCut || faults.completion),
  }
  if (finalUsage === null) return { used, faults: NO_FAULTS }
  const isUncovered = faults.prompt === 'beyond-bound' && isCut
  return { used, faults: isUncovered ? { ...faults, prompt: 'beyond-hold' } : faults }
}

/** The prompt tokens that the hold of a call covers at a candidate, beside this completion. */
const tokensHeld = (candidate: Candidate, completionTokens: number, { holdPico }: CallEnvelope): number => {
  const rate = readRates(candidate.rate)
  const completion = BigInt(Math.min(completionTokens, candidate.completionLimit)) * rate.completion
  return promptTokensCovered(promptBoundOf(candidate), rate, BigInt(holdPico) - completion)
}

/** Our own count of the prompt and of a delivered text. */
export async function countedUsage(text: string, call: ServedCall): Promise<CallUsage> {
  return (await usageOf({ text, finalUsage: null, produced: NOTHING_PRODUCED }, call)).used
}

/** The completion tokens as far as we know: seen and hidden output, or the provider's last report. */
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

/** A report with an impossible completion as well says nothing about our bound of the prompt. */
function faultsOf(reported: Usage, limits: UsageLimits): UsageFaults {
  const prompt = promptFault(reported.promptTokens, limits) ?? partsFault(reported, limits)
  const completion = !isPlausibleCompletion(reported.completionTokens, limits)
  const isInflated = completion && reported.completionTokens > 0
  return { prompt: prompt === 'beyond-bound' && isInflated ? 'absurd' : prompt, completion }
}

/** Whether a completion can have taken what its provider reports. */
export function isPlausibleUsage(reported: Usage, answer: Answer, served: Candidate): boolean {
  const { prompt, completion } = faultsOf(reported, limitsOf(answer, served))
  return prompt !== 'absurd' && !completion
}

function limitsOf({ text, produced, showsReasoning = false }: Answer, served: Candidate): UsageLimits {
  const { thinkingBytes, reasoningTokens } = produced
  const { audioTokens, imageTokens } = promptBoundOf(served)
  return {
    promptTokensBound: served.promptTokensBound,
    contextLength: served.contextLength,
    completionLimit: served.completionLimit,
    hasMedia: served.media !== undefined,
    ...(served.rate.promptAudio !== undefined && { audioTokensBound: audioTokens }),
    ...(served.rate.promptImage !== undefined && { imageTokensBound: imageTokens }),
    pricesCache: served.rate.cacheRead !== undefined || served.rate.cacheWrite !== undefined,
    ...(served.uses && { uses: served.uses }),
    contentBytes: Buffer.byteLength(text),
    // After its own tools a provider counts what the model said once for each round.
    mayReason:
      showsReasoning ||
      served.reasoning ||
      served.uses !== undefined ||
      thinkingBytes > 0 ||
      reasoningTokens > 0,
  }
}

/** All output of a model as one text, with the shown reasoning first. */
export function textOf({
  reasoning,
  content,
  refusal,
  tool_calls: toolCalls,
  native,
}: CompletionMessage): string {
  if (native) return nativeTexts(native).join('\n')
  const calls = (toolCalls ?? []).map((call) => `${call.function.name} ${call.function.arguments}`)
  return [reasoning ?? '', content ?? '', refusal ?? '', ...calls].filter((text) => text !== '').join('\n')
}

/**
 * Logs impossible parts of a provider's usage and whose fault they are. If our own bound of the prompt was too low, later
 * calls of the offer hold what it adds. If that is more than can be held for every call, and this call did not pay it,
 * the account gets no more calls with such content there for a while, because each would cost us what no client pays.
 */
export async function checkUsage(
  reported: Usage,
  { used: { usage }, faults }: { used: CallUsage; faults: UsageFaults },
  { envelope, content, served }: ServedCall,
  { board, logger }: { board: Pick<BreakerBoard, 'learn' | 'exclude'>; logger: Logger },
): Promise<void> {
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
    logger.error({ alarm: 'usage-absurd', ...about }, 'provider reported impossible usage')
  }
  // On a client's BYOK key the tokens cost us nothing, and what they teach could be the client's own doing. What tools of the
  // provider found says nothing about the next call.
  const teachesNothing = served.providerKeyId !== undefined || served.uses !== undefined
  if (faults.prompt === null || faults.prompt === 'absurd' || teachesNothing) return
  const { offerId, promptTokensBound: bound, media } = served
  const counted = await countPromptTokens(content, media).catch(() => ROUGH_COUNTS.prompt(content, media))
  const learned = learnedFrom(reported.promptTokens, counted, bound)
  const kinds = contentKindsOf(kindOf(content).modalities(content))
  const alarm = { alarm: 'prompt-bound-exceeded', ...about, kinds, bound, counted, learned }
  if (learned !== null && reported.promptTokens > bound) board.learn(offerId, kinds, learned, alarm)
  else if (faults.prompt === 'beyond-hold') board.exclude(offerId, kinds, envelope.accountId, alarm)
}

/** Factor beyond the limit by bytes that counts as ignoring it; long runs of a character can still have few tokens. */
const TIMES_LIMIT = 2

/** Logs that a provider ignored the completion limit, if the tokens of its output show it. */
export async function checkLimit(
  { text, produced }: Answer,
  { envelope, served }: ServedCall,
  { logger }: { logger: Logger },
): Promise<void> {
  const visible = await countTextTokens(text).catch(() => tokensOfBytes(Buffer.byteLength(text)))
  const tokens = visible + tokensOfBytes(produced.thinkingBytes)
  if (tokens <= TIMES_LIMIT * served.completionLimit) return
  const { id: callId, requestId } = envelope
  const { offerId, completionLimit } = served
  logger.error(
    { alarm: 'limit-ignored', callId, requestId, offerId, completionLimit, tokens },
    'provider ignored the completion limit, completion ended',
  )
}

/** Durations of a cut-off completion of a model with hidden reasoning, in ms. */
interface HiddenTime {
  /** From the request to the first content, or to the end if there was none. */
  silentMs: number
  /** From the first content to the end. */
  contentMs: number
}

/** For English in today's vocabularies; text of three bytes a character comes out about right as well. */
const BYTES_PER_TOKEN = 4
/** Minimum length of a stream for measuring its speed. */
const MEASURED_TOKENS_MIN = 32
const MEASURED_MS_MIN = 250
/** The speed assumed otherwise, slower than most models, and the maximum speed assumed for any. */
const USUAL_TOKENS_PER_SECOND = 50
const MOST_TOKENS_PER_SECOND = 300

/** Tokens of a text, estimated by its bytes. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)

/**
 * Reasoning tokens of an unfinished completion. Streamed reasoning is counted by its bytes. A model with hidden
 * reasoning is assumed to have reasoned until its first content, at the speed of its later output.
 * @param visible tokens of the content
 */
function hiddenTokens(
  { thinkingBytes }: Production,
  visible: number,
  hidden: HiddenTime | undefined,
): { tokens: number; isEstimate: boolean } {
  if (thinkingBytes > 0 || hidden === undefined) {
    return { tokens: tokensOfBytes(thinkingBytes), isEstimate: false }
  }
  const isMeasured = visible >= MEASURED_TOKENS_MIN && hidden.contentMs >= MEASURED_MS_MIN
  const perSecond = isMeasured ? (visible * 1_000) / hidden.contentMs : USUAL_TOKENS_PER_SECOND
  const tokens = Math.floor((Math.min(perSecond, MOST_TOKENS_PER_SECOND) * hidden.silentMs) / 1_000)
  return { tokens, isEstimate: tokens > 0 }
}

export interface UnfinishedAttempt {
  /** Its provider had sent a status of success: it processes the prompt, and bills it. */
  isAccepted: boolean
  produced: Production
  hidden?: HiddenTime
}

/** The known data of a cut-off attempt. Times in unix ms. */
export function unfinishedAttempt(
  { reasoning }: Candidate,
  { produced, httpStatus, firstTokenAt }: AttemptOutcome,
  startedAt: number,
  endedAt: number,
): UnfinishedAttempt {
  // Before the status, nothing shows that the provider has started.
  const isAccepted = isSuccess(httpStatus)
  if (!reasoning || !isAccepted) return { isAccepted, produced }
  const contentAt = firstTokenAt ?? endedAt
  return { isAccepted, produced, hidden: { silentMs: contentAt - startedAt, contentMs: endedAt - contentAt } }
}

/** Whether a provider's status accepts the request; null if there was none. */
export const isSuccess = (httpStatus: number | null): boolean =>
  httpStatus !== null && httpStatus >= 200 && httpStatus < 300

/** Bounds of a call's possible usage, without counting its tokens. */
export interface UsageLimits {
  /** The bound of the prompt in the hold. */
  promptTokensBound: number
  /** The context length of the model that served. */
  contextLength: number
  /** The completion limit sent upstream. */
  completionLimit: number
  /** The prompt contains images, sounds or files, whose tokens only their provider knows. */
  hasMedia: boolean
  /** Bounds of audio and of images with their own rates; absent: they count as ordinary prompt tokens. */
  audioTokensBound?: number
  imageTokensBound?: number
  /** Whether cached prompt tokens have their own rates; otherwise they cost as much as others, and impossible counts are dropped. */
  pricesCache?: boolean
  /** The uses of the provider's tools in the hold; absent: none. */
  uses?: Candidate['uses']
  /** Bytes of the completion: text, refusal, tool calls. */
  contentBytes: number
  /** The model may have reasoned invisibly. */
  mayReason: boolean
}

/** Text takes less than a token a byte. Twice that, and a margin for the frames of tool calls, is impossible. */
const TOKENS_PER_BYTE = 2
const TOKENS_BESIDE_CONTENT = 200

export function promptFault(tokens: number, limits: UsageLimits): PromptFault {
  const { promptTokensBound, contextLength, hasMedia } = limits
  if (!isCount(tokens) || tokens === 0) return 'absurd'
  if (tokens <= promptTokensBound) return null
  const most = hasMedia ? contextLength : tokensPossible(promptTokensBound)
  return tokens <= Math.min(most, contextLength) ? 'beyond-bound' : 'absurd'
}

/** The fault of the reported parts of a prompt with their own rates. */
export function partsFault(usage: Usage, limits: UsageLimits): PromptFault {
  const { audioTokensBound, imageTokensBound, hasMedia } = limits
  const audio = audioTokensBound === undefined ? 0 : (usage.audioTokens ?? 0)
  const image = imageTokensBound === undefined ? 0 : (usage.imageTokens ?? 0)
  const { cachedTokens = 0, cacheWriteTokens = 0 } = limits.pricesCache ? usage : {}
  if (!isPossibleCache(usage.promptTokens, cachedTokens, cacheWriteTokens)) return 'absurd'
  if (!isCount(audio) || !isCount(image) || audio + image > usage.promptTokens) return 'absurd'
  if (audio <= (audioTokensBound ?? 0) && image <= (imageTokensBound ?? 0)) return null
  return hasMedia ? 'beyond-bound' : 'absurd'
}

/** Whether a completion can have taken this many tokens; not 0 for one with content. */
export function isPlausibleCompletion(tokens: number, limits: UsageLimits): boolean {
  const { completionLimit, contentBytes, mayReason } = limits
  if (!isCount(tokens) || tokens > completionLimit) return false
  if (tokens === 0) return contentBytes === 0
  return mayReason || tokens <= TOKENS_PER_BYTE * contentBytes + TOKENS_BESIDE_CONTENT
}

/** Limits our own counts and estimates to the hold. */
export function withinHold(usage: Usage, limits: UsageLimits): Usage {
  const promptTokens = Math.min(usage.promptTokens, limits.promptTokensBound)
  const audioTokens = Math.min(usage.audioTokens ?? 0, limits.audioTokensBound ?? 0, promptTokens)
  const imageTokens = Math.min(
    usage.imageTokens ?? 0,
    limits.imageTokensBound ?? 0,
    promptTokens - audioTokens,
  )
  // It is not reported which media were cached, so media keep their own rates.
  const isPossible = isPossibleCache(usage.promptTokens, usage.cachedTokens, usage.cacheWriteTokens)
  const cacheable = isPossible ? promptTokens - audioTokens - imageTokens : 0
  const cacheWriteTokens = Math.min(usage.cacheWriteTokens ?? 0, cacheable)
  const cacheWriteHourTokens = Math.min(usage.cacheWriteHourTokens ?? 0, cacheWriteTokens)
  const cachedTokens = Math.min(usage.cachedTokens ?? 0, cacheable - cacheWriteTokens)
  const { webSearches = 0, codeExecutions = 0 } = limits.uses ?? {}
  const searches = Math.min(usage.webSearches ?? 0, webSearches)
  const executions = Math.min(usage.codeExecutions ?? 0, codeExecutions)
  return {
    promptTokens,
    completionTokens: Math.min(usage.completionTokens, limits.completionLimit),
    ...(audioTokens > 0 && { audioTokens }),
    ...(imageTokens > 0 && { imageTokens }),
    ...(cachedTokens > 0 && { cachedTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
    ...(searches > 0 && { webSearches: searches }),
    ...(executions > 0 && { codeExecutions: executions }),
  }
}

/** The uses of its tools that a provider reported, whatever else it did. */
const usesOf = ({ webSearches, codeExecutions }: Partial<Usage> = {}): Partial<Usage> => ({
  ...(webSearches !== undefined && { webSearches }),
  ...(codeExecutions !== undefined && { codeExecutions }),
})

const isPossibleCache = (promptTokens: number, read = 0, written = 0): boolean =>
  isCount(read) && isCount(written) && read + written <= promptTokens

const isCount = (tokens: number): boolean => Number.isSafeInteger(tokens) && tokens >= 0
