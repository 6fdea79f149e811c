import { type CallContent, kindOf, messagesOf } from '../core/calls/kinds/call-kinds.ts'
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
export const countTextTokens = (text: string): Promise<number> => countTexts([text])

/**
 * The tokens of texts in the o200k_base vocabulary, each text by itself. Exact up to 200,000 characters; above that
 * an estimate from a sample; a rough estimate while the counting threads are busy. The charge stays within the hold
 * in each case.
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
 * The tokens of a prompt in the same vocabulary, with the usual overhead per message.
 * @param media the tokens that the model probably counts for its media; absent if it has none
 */
export async function countPromptTokens(content: CallContent, media?: MediaTokens): Promise<number> {
  const around = TOKENS_PER_CALL + TOKENS_PER_MESSAGE * messagesOf(content).length
  return around + sumOfTokens(media?.likely) + (await countTexts(kindOf(content).texts(content)))
}
