/**
 * What an offer was seen to add to its prompts, by kinds of content: the most tokens that its provider reported beyond our
 * own count, in a call whose bound was too low. Later calls hold them as well. Only calls with our keys teach, and what
 * they teach is bounded, kept by offer, and forgotten after a week, so that no content can raise holds at will.
 */
export interface LearnedTokens {
  tokens: number
  /** Unix milliseconds. */
  untilMs: number
}

/** No more is learned; the longest known preamble has a fifth of it. */
export const LEARNED_TOKENS_MAX = 4_096
export const LEARNED_FOR_MS = 7 * 24 * 3_600_000
/** What is learned is rounded up to this, so that a date in a preamble teaches nothing new. */
const STEP = 64

/** What a report teaches of the tokens that an offer adds; null: more than can be held for every call. */
export function learnedFrom(reported: number, counted: number, bound: number): number | null {
  const added = Math.max(reported - counted, reported - bound)
  const tokens = Math.ceil(added / STEP) * STEP
  return added > 0 && tokens <= LEARNED_TOKENS_MAX ? tokens : null
}

/** The bound of a text is at most a few times its count, and additions of a provider are limited. */
const TEXT_FACTOR = 4
/** The most tokens that a provider may report of a text with this bound. More are impossible. */
export const tokensPossible = (bound: number): number => TEXT_FACTOR * bound + LEARNED_TOKENS_MAX

/** As kept in Redis. */
export const formatLearned = ({ tokens, untilMs }: LearnedTokens): string => `${tokens}:${untilMs}`

/** Parses an entry as kept in Redis; null on anything else. */
export function parseLearned(text: string): LearnedTokens | null {
  const match = /^(\d{1,5}):(\d{1,16})$/.exec(text)
  if (!match) return null
  return { tokens: Math.min(LEARNED_TOKENS_MAX, Number(match[1])), untilMs: Number(match[2]) }
}
