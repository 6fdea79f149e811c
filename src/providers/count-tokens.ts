import { type CallContent, kindOf, messagesOf, parametersOf } from '../core/calls/kinds/call-kinds.ts'
import { sampleTexts } from '../core/kernel/text-pieces.ts'
import { type MediaTokens, sumOfTokens } from '../core/media/media-tokens.ts'
import { textTokensBound } from '../core/text-tokens/text-bound.ts'
import { threads } from '../platform/process/thread-pool.ts'

const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_CALL = 3

/** About 50,000 tokens of prose. Of a longer text a sample of this length is counted, and the rest is estimated from it. */
const COUNTED_CHARS_MAX = 200_000
/** Counting the maximum takes 0.1 s, and 0.1 s more if the vocabulary is not loaded yet. */
const COUNT_LIMIT_MS = 10_000
/** The bound on a text's tokens is about this many times their number. */
const BOUND_PER_TOKEN = 2

/** The tokens of a text in the o200k_base vocabulary. Used if a provider does not report its usage. */
export const countTextTokens = async (text: string): Promise<number> => (await countTexts([text])).tokens

/**
 * The tokens of texts in the o200k_base vocabulary, each text by itself. Exact up to 200,000 characters; above that
 * an estimate from a sample; a rough estimate while the counting threads are busy. The charge stays within the hold
 * in each case.
 */
async function countTexts(texts: readonly string[]): Promise<{ tokens: number; isExact: boolean }> {
  const sample = sampleTexts(texts, COUNTED_CHARS_MAX)
  if (sample.chars === 0) return { tokens: 0, isExact: true }
  const options = { weight: sample.chars, limitMs: COUNT_LIMIT_MS }
  const outcome = await threads.run('countTokens', sample.texts, options)
  const counted = outcome.kind === 'done' ? outcome.value : roughCount(sample.texts)
  return { tokens: Math.ceil(counted * sample.scale), isExact: outcome.kind === 'done' && sample.scale === 1 }
}

const roughCount = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + textTokensBound(text), 0) / BOUND_PER_TOKEN

/**
 * The tokens of a prompt in the same vocabulary, with the usual overhead per message.
 * @param media the tokens that the model probably counts for its media; absent if it has none
 */
export async function countPromptTokens(content: CallContent, media?: MediaTokens): Promise<number> {
  return (await countPrompt(content, media)).tokens
}

/** The same; `isExact` if nothing of it is an estimate for a model with this vocabulary. */
export async function countPrompt(content: CallContent, media?: MediaTokens) {
  const around = TOKENS_PER_CALL + TOKENS_PER_MESSAGE * messagesOf(content).length
  const text = await countTexts(kindOf(content).texts(content))
  const isEstimated = media !== undefined || Object.keys(parametersOf(content)).some(isWritten)
  return {
    tokens: around + sumOfTokens(media?.likely) + text.tokens,
    isExact: text.isExact && !isEstimated,
  }
}

/** Providers do not publish how they write these parameters into a prompt. */
const isWritten = (parameter: string): boolean => parameter === 'tools' || parameter === 'response_format'
