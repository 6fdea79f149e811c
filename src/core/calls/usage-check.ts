import type { Usage } from '../billing/pricing.ts'

/** What a call could have used, as far as we can tell without counting its tokens. */
export interface UsageLimits {
  /** What the prompt was held for. */
  promptTokensBound: number
  /** Of the model that served. */
  contextLength: number
  /** What was sent upstream as the limit of the answer. */
  completionLimit: number
  /** The prompt has images, sounds or files in it, whose tokens only their provider knows. */
  hasMedia: boolean
  /** Bounds of audio and of images where they have rates of their own; absent: they are prompt tokens like others. */
  audioTokensBound?: number
  imageTokensBound?: number
  /** Bytes of the answer: text, refusal, tool calls. */
  contentBytes: number
  /** The model may have reasoned out of sight. */
  mayReason: boolean
}

/**
 * What is wrong with a prompt's reported tokens. `absurd`: they cannot be, and the provider is at fault.
 * `beyond-bound`: they can be, and the bound that we held for was too low.
 */
export type PromptFault = 'absurd' | 'beyond-bound' | null

/** Text takes less than a token a byte. Twice that, and some for the frames of tool calls, is impossible. */
const TOKENS_PER_BYTE = 2
const TOKENS_BESIDE_CONTENT = 200
/** The bound of text is known well: what a provider may add to it, such as a preamble of its own, is not much. */
const TEXT_FACTOR = 4
const PREAMBLE_TOKENS = 2_000

export function promptFault(tokens: number, limits: UsageLimits): PromptFault {
  const { promptTokensBound, contextLength, hasMedia } = limits
  if (!isCount(tokens) || tokens === 0) return 'absurd'
  if (tokens <= promptTokensBound) return null
  const most = hasMedia ? contextLength : TEXT_FACTOR * promptTokensBound + PREAMBLE_TOKENS
  return tokens <= Math.min(most, contextLength) ? 'beyond-bound' : 'absurd'
}

/** What is wrong with what is reported of a prompt's audio and images, where they have rates of their own. */
export function mediaFault(usage: Usage, limits: UsageLimits): PromptFault {
  const { audioTokensBound, imageTokensBound, hasMedia } = limits
  const audio = audioTokensBound === undefined ? 0 : (usage.audioTokens ?? 0)
  const image = imageTokensBound === undefined ? 0 : (usage.imageTokens ?? 0)
  if (!isCount(audio) || !isCount(image) || audio + image > usage.promptTokens) return 'absurd'
  if (audio <= (audioTokensBound ?? 0) && image <= (imageTokensBound ?? 0)) return null
  return hasMedia ? 'beyond-bound' : 'absurd'
}

/** Whether a provider can have used so many tokens for an answer: not 0 for one that says something. */
export function isPlausibleCompletion(tokens: number, limits: UsageLimits): boolean {
  const { completionLimit, contentBytes, mayReason } = limits
  if (!isCount(tokens) || tokens > completionLimit) return false
  if (tokens === 0) return contentBytes === 0
  return mayReason || tokens <= TOKENS_PER_BYTE * contentBytes + TOKENS_BESIDE_CONTENT
}

/** Our own figures are counts and estimates: what was held for is what they may come to. */
export function withinHold(usage: Usage, limits: UsageLimits): Usage {
  const promptTokens = Math.min(usage.promptTokens, limits.promptTokensBound)
  const audioTokens = Math.min(usage.audioTokens ?? 0, limits.audioTokensBound ?? 0, promptTokens)
  const imageTokens = Math.min(
    usage.imageTokens ?? 0,
    limits.imageTokensBound ?? 0,
    promptTokens - audioTokens,
  )
  return {
    promptTokens,
    completionTokens: Math.min(usage.completionTokens, limits.completionLimit),
    ...(audioTokens > 0 && { audioTokens }),
    ...(imageTokens > 0 && { imageTokens }),
  }
}

const isCount = (tokens: number): boolean => Number.isSafeInteger(tokens) && tokens >= 0
