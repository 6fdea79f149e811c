/** A passage has at least so many characters; what is shorter is read with the question. */
const PASSAGE_CHARS = 400
/** Paragraphs of a passage are longer; lines like those of a puzzle, one condition each, are not cut. */
const PARAGRAPH_CHARS = 80
/** A first or last line of prose up to this length says what is wanted. */
const FIRST_INSTRUCTION_CHARS = 240
const LAST_INSTRUCTION_CHARS = 100

/**
 * `question` and `instruction` say what is wanted. `marked`: between fences or tags, quoted, a row of a table or a line
 * of code. `item`: of a list, which is read with the question. `option`: a lettered answer, left to what reads options.
 */
type LineKind = 'question' | 'instruction' | 'item' | 'marked' | 'prose' | 'option' | 'blank'

/**
 * A prompt without the passages that its question is about: quoted documents, code and tables, told by structure and
 * length. A passage makes a prompt long and full of rare words and numbers, but hardly harder. Nothing is cut where no
 * question or instruction would remain. Linear in the length of the text.
 */
export function withoutPassages(text: string): string {
  if (text.length < PASSAGE_CHARS) return text
  const lines = text
    .replace(QUOTATION, lastQuestion)
    .replace(LABELLED_QUESTION, '$1\n')
    .replace(INTRODUCTION, '$1\n')
    .split('\n')
  const kinds = lineKinds(lines)
  if (!kinds.includes('question') && !kinds.includes('instruction')) return text
  const kept: string[] = []
  for (let start = 0; start < lines.length; ) {
    const end = runEnd(kinds, start)
    const run = lines.slice(start, end)
    kept.push(isPassage(run, kinds[start]!) ? remainder(run) : run.join('\n'))
    start = end
  }
  return kept.join('\n')
}

/** A long quotation: its mark stands where words do not end, so that the text between two quotations is none. */
const QUOTATION = /(?<![\w.,!?;:'"”])["“«„][^"“”«»„]{400,}["”“»]/g
/** "Passage: ... Question: ..." in one line. */
const LABELLED_QUESTION = /([.!?"”)])[ \t]+(?=(?:question|query|task|instructions?|q):[ \t])/gi
/** "Summarize this text: ..." in one line. */
const INTRODUCTION = /^([^\n:.?!]{3,160}:)[ \t]+(?=[^ \t\n][^\n]{399})/gm

/** The end of the lines of one kind that begins at `start`; blank lines between them belong to it. */
function runEnd(kinds: readonly LineKind[], start: number): number {
  let end = start + 1
  for (let at = end; at < kinds.length; at++) {
    if (kinds[at] === kinds[start]) end = at + 1
    else if (kinds[at] !== 'blank') break
  }
  return end
}

/** Whether lines of one kind are a passage: long, and if nothing marks them, in paragraphs. */
function isPassage(run: readonly string[], kind: LineKind): boolean {
  if (kind !== 'marked' && kind !== 'prose') return false
  const chars = run.reduce((sum, line) => sum + line.length, 0)
  if (chars < PASSAGE_CHARS) return false
  return kind === 'marked' || chars >= PARAGRAPH_CHARS * run.filter((line) => line !== '').length
}

const LAST_QUESTION_CHARS = 300
const LAST_QUESTION = /(?<=[.!?:;"”\n]\s)[^.!?\n]*\?["”]?\s*$/

/** The question that a passage ends in, if any. */
const lastQuestion = (passage: string): string =>
  LAST_QUESTION.exec(passage.slice(-LAST_QUESTION_CHARS))?.[0] ?? ''

/** What is kept of a passage: the fence that says it is code, and a last question. */
function remainder(run: readonly string[]): string {
  const fence = run[0]!.trimStart().startsWith('```') ? '```\n' : ''
  return fence + lastQuestion(run.join('\n'))
}

function lineKinds(lines: readonly string[]): LineKind[] {
  const marked = markedLines(lines)
  const kinds = lines.map((line, index): LineKind => (marked[index] ? 'marked' : kindOf(line)))
  const firstOption = kinds.indexOf('option')
  let last = (firstOption < 0 ? kinds.length : firstOption) - 1
  while (last > 0 && (kinds[last] === 'blank' || LABEL_ONLY.test(lines[last]!))) last--
  const first = kinds.findIndex((kind) => kind !== 'blank')
  if (first >= last) return kinds
  const isInstruction = (at: number, mostChars: number) =>
    kinds[at] === 'prose' && lines[at]!.length <= mostChars && !STATES_TASK.test(lines[at]!)
  // A passage that ends in a question may begin with a short line of its own.
  const beginsPassage = kinds[last] === 'question' && kinds[first + 1] === 'prose'
  if (!beginsPassage && isInstruction(first, FIRST_INSTRUCTION_CHARS)) kinds[first] = 'instruction'
  const lastChars = firstOption < 0 ? LAST_INSTRUCTION_CHARS : PASSAGE_CHARS
  if (isInstruction(last, lastChars) && (lines[last]!.match(WORD)?.length ?? 0) > 1)
    kinds[last] = 'instruction'
  return kinds
}

/** What follows or precedes these words is the task itself and no material for one. */
const STATES_TASK =
  /\b(?:solve|prove|implement|complete|design|build|create|compute|calculate|determine|derive|problem|puzzle|program|function)\b/i
const WORD = /\p{L}{2,}/gu
/** "Answer:" and the like. */
const LABEL_ONLY = /^[ \t]*\w+:?[ \t]*$/
const OPTION = /^[ \t]*\(?[A-Z][.):]/
const LIST_ITEM = /^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]/
/** A line of a transcript: who speaks asks nothing of us. */
const SPEAKER = /^[ \t]*(?!question|query|task|instruction|q:)[\w.' -]{1,30}:[ \t]/i
/** Between bars, of three columns by tabs, or of four by commas. */
const TABLE_ROW = /^[ \t]*\||\t[^\t]*\t|^(?:[^,]{1,40},){3,}[^,]{0,40}$/
/** Ends as statements do, is indented, or begins with a keyword and ends as a block's head does. */
const CODE_LINE =
  /[;{][ \t]*$|^[ \t]*[\])}]+[;,]?[ \t]*$|^(?: {4}|\t)[ \t]*\S|^[ \t]*(?:def|class|for|if|while|return|import|from|function|const|let|var)\b.*[:;{(][ \t]*$/

function kindOf(line: string): LineKind {
  if (line.trim() === '') return 'blank'
  if (OPTION.test(line)) return 'option'
  if (line.startsWith('>') || TABLE_ROW.test(line) || CODE_LINE.test(line)) return 'marked'
  if (line.length >= PASSAGE_CHARS) return 'prose'
  if (/[?？]/.test(line) && !SPEAKER.test(line)) return 'question'
  return LIST_ITEM.test(line) ? 'item' : 'prose'
}

const FENCE = /^[ \t]*(?:```|~~~|""")/
/** A tag with another name than these, which hold the task. */
const OPENING_TAG =
  /^[ \t]*[<[](?!(?:problem|question|query|task|instructions?|prompt)\b)([A-Za-z][\w-]*)[^<>[\]]*[>\]]/i
const CLOSING_TAG = /[<[]\/([A-Za-z][\w-]*)[>\]]/g

/** Which lines stand between fences, or between a tag that begins a line and the tag that closes it. */
function markedLines(lines: readonly string[]): boolean[] {
  const closedAt = new Map<string, number>()
  for (const [index, line] of lines.entries()) {
    for (const [, name] of line.matchAll(CLOSING_TAG)) closedAt.set(name!, index)
  }
  let isFenced = false
  let taggedUpTo = -1
  return lines.map((line, index) => {
    if (FENCE.test(line)) {
      isFenced = !isFenced
      return true
    }
    const name = isFenced ? undefined : OPENING_TAG.exec(line)?.[1]
    if (name !== undefined) taggedUpTo = Math.max(taggedUpTo, closedAt.get(name) ?? -1)
    return isFenced || index <= taggedUpTo
  })
}

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
