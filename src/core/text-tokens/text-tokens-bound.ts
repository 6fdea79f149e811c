import { characterBound } from './character-bound.ts'
import { lowerCaseWordBound } from './lower-case-word-bound.ts'

const SPACE = 32
/** What every vocabulary has a token for, in a longer run. */
const SPACES_PER_TOKEN = 4

const isLowerCase = (code: number) => code >= 97 && code <= 122

/**
 * An upper bound of a text's tokens in every tokenizer in use (byte-pair encodings over bytes, and SentencePiece
 * with byte fallback), without running one. Neither ever makes more tokens than the text has UTF-8 bytes, so that
 * is what counts wherever the vocabularies have nothing in common. Less counts for what all of them join:
 * lower-case words, common characters of other scripts, runs of spaces.
 *
 * One pass, some nanoseconds a character. What the bound is for ordinary text, and the margin it leaves for
 * vocabularies that are not public: `docs/decisions/0034-text-bound-covers-every-vocabulary.md`.
 */
export function textTokensBound(text: string): number {
  let tokens = 0
  let index = 0
  while (index < text.length) {
    const code = text.charCodeAt(index)
    const start = index++
    if (isLowerCase(code)) {
      index = lettersEnd(text, index)
      tokens += lowerCaseWordBound(text, start, index, 'other')
    } else if (code === SPACE) {
      while (text.charCodeAt(index) === SPACE) index++
      // The last space of a run joins what follows; those before it are tokens of their own.
      const runLength = index - start - 1
      if (runLength > 0) tokens += 1 + (runLength - 1) / SPACES_PER_TOKEN
      const end = lettersEnd(text, index)
      tokens += end === index ? 1 : lowerCaseWordBound(text, index, end, runLength > 0 ? 'spaces' : 'space')
      index = end
    } else {
      tokens += code < 128 ? 1 : characterBound(text, start)
    }
  }
  return Math.ceil(tokens)
}

function lettersEnd(text: string, start: number): number {
  let end = start
  while (isLowerCase(text.charCodeAt(end))) end++
  return end
}
