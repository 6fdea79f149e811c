const SPACE = 32
const LINE_FEED = 10

const PIECE_CHARS = 2_000
/** Byte-pair encoding is quadratic in the length of a run without a space, so longer runs are cut. */
const RUN_CHARS = 128

/**
 * Cuts a text into pieces of at most 2,000 characters that can be tokenized separately in linear time. Cuts are
 * before a space or line break if possible, so that hardly any token is split; a run of more than
 * 128 characters without either is cut, which splits one token each time.
 */
export function textPieces(text: string): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start)
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

function pieceEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + PIECE_CHARS)
  let wordStart = start
  for (let index = start + 1; index < limit; index++) {
    if (isGap(text.charCodeAt(index)) && !isGap(text.charCodeAt(index - 1))) wordStart = index
    else if (index - wordStart >= RUN_CHARS) {
      if (wordStart > start) return wordStart
      return isLowSurrogate(text.charCodeAt(index)) ? index - 1 : index
    }
  }
  return limit === text.length || wordStart === start ? limit : wordStart
}

const isGap = (code: number): boolean => code === SPACE || code === LINE_FEED
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

export interface TextSample {
  texts: string[]
  /** Characters in `texts`. */
  chars: number
  /** Characters of the whole text per character of the sample; 1 if `texts` is the whole. */
  scale: number
}

/** The texts unchanged if they have at most `maxChars` in total, else evenly spread pieces of about that many. */
export function sampleTexts(texts: readonly string[], maxChars: number): TextSample {
  const total = charsOf(texts)
  if (total <= maxChars) return { texts: [...texts], chars: total, scale: 1 }
  const every = Math.ceil(total / maxChars)
  const sampled: string[] = []
  let pieces = 0
  for (const text of texts) {
    for (let start = 0; start < text.length; start += PIECE_CHARS) {
      if (pieces++ % every === 0) sampled.push(text.slice(start, start + PIECE_CHARS))
    }
  }
  const chars = charsOf(sampled)
  return { texts: sampled, chars, scale: total / chars }
}

const charsOf = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0)
