import { withoutPassages } from './cut-passages.ts'

/** Characters of one text that are read: its beginning and its end, whatever its length. */
const HEAD_CHARS = 8_000
const TAIL_CHARS = 4_000

const REPEATS_LOOKED_FOR_FROM_CHARS = 300
const REPEATED_PIECE_CHARS = 12

/** The question of a prompt and the lettered options that follow it, if any. */
export interface PromptParts {
  question: string
  /** Empty where there are none. */
  options: string
}

/**
 * A prompt in the parts that count. At most 12,000 characters are looked at, passages that the question is about are
 * cut, and a sentence or line that comes again counts once, so that neither length nor repetition costs time or
 * feigns difficulty.
 */
export function promptParts(prompt: string): PromptParts {
  const { question, options } = splitOptions(withoutPassages(clipped(prompt)))
  return { question: withoutRepeats(question), options }
}

/** The beginning and the end of a text that is too long to read. */
export function clipped(text: string, headChars = HEAD_CHARS, tailChars = TAIL_CHARS): string {
  if (text.length <= headChars + tailChars) return text
  return `${text.slice(0, headChars)}\n${text.slice(-tailChars)}`
}

const FIRST_OPTION = /(?:^|\n)[ \t]*\(?A[.):]/
const SECOND_OPTION = /\n[ \t]*\(?B[.):]/

/** A text before its lettered options, and from the first of them on. */
export function splitOptions(text: string): PromptParts {
  const first = FIRST_OPTION.exec(text)
  if (!first) return { question: text, options: '' }
  const rest = text.slice(first.index)
  if (!SECOND_OPTION.test(rest)) return { question: text, options: '' }
  return { question: text.slice(0, first.index), options: rest }
}

function withoutRepeats(text: string): string {
  if (text.length < REPEATS_LOOKED_FOR_FROM_CHARS) return text
  const seen = new Set<string>()
  const kept = text.split(/(?<=[.?!\n])/).filter((piece) => {
    if (piece.length < REPEATED_PIECE_CHARS) return true
    const before = seen.size
    return seen.add(piece.trim()).size > before
  })
  return kept.join('')
}
