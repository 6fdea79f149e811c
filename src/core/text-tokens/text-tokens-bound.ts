import { characterBound } from './character-bound.ts'
import { lowerCaseWordBound } from './lower-case-word-bound.ts'

const SPACE = 32
/** Number of spaces in a longer run that every vocabulary merges into one token. */
const SPACES_PER_TOKEN = 4

const isLowerCase = (code: number) => code >= 97 && code <= 122

/**
 * An upper bound of a text's tokens in every tokenizer in use (byte-pair encodings over bytes, and SentencePiece
 * with byte fallback), without running one. Neither ever produces more tokens than the text has UTF-8 bytes, so
 * bytes count wherever the vocabularies have nothing in common. Text that all of them merge counts less:
 * lower-case words, common characters of other scripts, runs of spaces.
 *
 * One pass, a few nanoseconds per character. For the bound of ordinary text, and its margin for
 * unpublished vocabularies, see `docs/decisions/0034-text-bound-covers-every-vocabulary.md`.
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
      // The last space of a run merges with the following text; the earlier ones are separate tokens.
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
