import { type CallContent, kindOf } from '../core/calls/kinds/call-kinds.ts'
import { sampleTexts } from '../core/kernel/text-pieces.ts'
import { type MediaTokens, sumOfTokens } from '../core/media/media-tokens.ts'
import { textTokensBound } from '../core/text-tokens/text-bound.ts'
import { threads } from '../platform/process/thread-pool.ts'

const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_CALL = 3

/** About 50,000 tokens of prose. Of what is longer, so much is counted from all over it, and stands for the rest. */
const COUNTED_CHARS_MAX = 200_000
/** Counting so much takes a tenth of a second, and as much again where the vocabulary is loaded first. */
const COUNT_LIMIT_MS = 10_000
/** The bound of a text's tokens comes out at about so many times their count. */
const BOUND_PER_TOKEN = 2

/** Tokens of a text in the o200k_base vocabulary. Used where a provider does not say what it used. */
export const countTextTokens = (text: string): Promise<number> => countTexts([text])

/**
 * Tokens of texts in the o200k_base vocabulary, each by itself: exact up to 200,000 characters, beyond that an
 * estimate from a sample, and a rough one where the threads that count are busy. What is charged by it stays within
 * the hold all the same.
 */
async function countTexts(texts: readonly string[]): Promise<number> {
  const sample = sampleTexts(texts, COUNTED_CHARS_MAX)
  if (sample.chars === 0) return 0
  const options = { weight: sample.chars, limitMs: COUNT_LIMIT_MS }
  const outcome = await threads.run('countTokens', sample.texts, options)
  const counted = outcome.kind === 'done' ? outcome.value : roughCount(sample.texts)
  return Math.ceil(counted * sample.scale)
}

const roughCount = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + textTokensBound(text), 0) / BOUND_PER_TOKEN

/**
 * Tokens of a prompt, by the same vocabulary and the customary overhead a message.
 * @param media what the model is likely to make of its media; absent: it has none
 */
export async function countPromptTokens(content: CallContent, media?: MediaTokens): Promise<number> {
  const { texts, messages } = kindOf(content).texts(content)
  const around = TOKENS_PER_CALL + TOKENS_PER_MESSAGE * messages
  return around + sumOfTokens(media?.likely) + (await countTexts(texts))
}
