import { CUES, scanText, type TextScan } from './scan-text.ts'

/** The parts of a prompt that features are computed from. */
interface ScannedPrompt {
  question: string
  /** The lettered options after the question; empty if there are none. */
  options: string
  asked: TextScan
  offered: TextScan
  optionLines: string[]
}

export interface PromptFeatures {
  /** In the order of FEATURES; NaN if a feature does not apply to this prompt. */
  values: Float64Array
  /** Hashes of the distinct words of the question alone. */
  questionWords: readonly number[]
  /** The text without passages, repetitions and options. */
  question: string
}

type Feature = (prompt: ScannedPrompt) => number

const log = Math.log1p
const words = ({ asked }: ScannedPrompt) => Math.max(1, asked.words)
/** Limits the counted length of a text that repeats few words. */
const WORDS_PER_DISTINCT = 4
const CHARS_PER_DISTINCT = 40
const tellingWords = ({ asked }: ScannedPrompt) =>
  Math.min(asked.words, WORDS_PER_DISTINCT * asked.distinctWords.length)
const tellingChars = ({ asked }: ScannedPrompt) =>
  Math.min(asked.chars, CHARS_PER_DISTINCT * (1 + asked.distinctWords.length))
const distinct = ({ asked }: ScannedPrompt) => Math.max(1, asked.distinctWords.length)

const signs = (scan: TextScan, characters: string): number => {
  let sum = 0
  for (let index = 0; index < characters.length; index++) sum += scan.ascii[characters.charCodeAt(index)]!
  return sum
}
const counted =
  (characters: string): Feature =>
  ({ asked }) =>
    log(signs(asked, characters))

const ENGLISH_COMMON_SHARE = 0.1
/** Word rarity is known for English only. */
const ofEnglish =
  (feature: Feature): Feature =>
  (prompt) =>
    prompt.asked.commonWords / distinct(prompt) < ENGLISH_COMMON_SHARE ? Number.NaN : feature(prompt)

const ofOptions =
  (feature: Feature): Feature =>
  (prompt) =>
    prompt.optionLines.length === 0 ? 0 : feature(prompt)
const perOption = (count: number, { optionLines }: ScannedPrompt) => log(count / optionLines.length)

const NUMERIC_OPTION = /^[ \t]*\(?[A-Z][.):]\)?\s*[-+$€£]?[\d.]/
const shareOf = (lines: readonly string[], pattern: RegExp) =>
  lines.filter((line) => pattern.test(line)).length / lines.length

/** All features of a prompt's form. Counts are logarithms, so that many repetitions saturate. */
const FEATURE_TABLE: Record<string, Feature> = {
  chars: (prompt) => log(tellingChars(prompt)),
  words: (prompt) => log(tellingWords(prompt)),
  distinct_words: ({ asked }) => log(asked.distinctWords.length),
  sentences: ({ asked }) => log(asked.sentences),
  sentence_words: (prompt) => log(tellingWords(prompt) / Math.max(1, prompt.asked.sentences)),
  distinct_share: (prompt) => prompt.asked.distinctWords.length / words(prompt),
  word_letters: (prompt) => prompt.asked.letters / words(prompt),
  long_words: ({ asked }) => log(asked.longWords),
  long_word_share: (prompt) => prompt.asked.longWords / words(prompt),
  single_letters: ({ asked }) => log(asked.singleLetters),
  mixed_case_words: ({ asked }) => log(asked.mixedCaseWords),
  upper_case_words: ({ asked }) => log(asked.upperCaseWords),
  names: ({ asked }) => log(asked.names),
  name_share: (prompt) => prompt.asked.names / words(prompt),
  numbers: ({ asked }) => log(asked.numbers),
  number_share: (prompt) => prompt.asked.numbers / (words(prompt) + prompt.asked.numbers),
  longest_number: ({ asked }) => Math.min(8, asked.longestNumber),
  commas: counted(','),
  parentheses: counted('()'),
  operators: counted('=+*^<>/'),
  minus_signs: counted('-'),
  backslashes: counted('\\'),
  dollars: counted('$'),
  braces: counted('{}'),
  brackets: counted('[]'),
  quotes: counted('"\''),
  question_marks: counted('?'),
  lines: counted('\n'),
  colons: counted(':;'),
  percent_signs: counted('%'),
  underscores: counted('_'),
  underscores_in_words: ({ asked }) => log(asked.underscoresInWords),
  math_signs: ({ asked }) => log(asked.mathSigns),
  math_share: ({ asked }) => (asked.mathSigns + signs(asked, '=+^\\')) / (asked.chars + 10),
  non_ascii_share: ({ asked }) => asked.nonAscii / (asked.chars + 10),
  ideograph_share: ({ asked }) => asked.ideographs / (asked.chars + 10),
  rarity: ofEnglish((prompt) => prompt.asked.raritySum / distinct(prompt)),
  rare_share: ofEnglish((prompt) => prompt.asked.rareWords / distinct(prompt)),
  rare_words: ofEnglish(({ asked }) => log(asked.rareWords)),
  rarest_words: ofEnglish(({ asked }) => (asked.rarest[0] + asked.rarest[1] + asked.rarest[2]) / 3),
  code_fence: ({ question }) => (question.includes('```') ? 1 : 0),
  blank_to_fill: ({ question }) => (question.includes('___') ? 1 : 0),
  options: ({ optionLines }) => (optionLines.length > 0 ? 1 : 0),
  option_count: ({ optionLines }) => Math.min(26, optionLines.length),
  option_chars: ofOptions((prompt) => perOption(prompt.options.length, prompt)),
  option_numeric_share: ofOptions(({ optionLines }) => shareOf(optionLines, NUMERIC_OPTION)),
  option_numbers: ofOptions((prompt) => perOption(prompt.offered.numbers, prompt)),
  option_math: ofOptions((prompt) =>
    perOption(signs(prompt.offered, '=+^\\/') + prompt.offered.mathSigns, prompt),
  ),
  option_names: ofOptions((prompt) => perOption(prompt.offered.names, prompt)),
  option_rarity: ofOptions(({ offered }) => offered.raritySum / Math.max(1, offered.distinctWords.length)),
  option_rare_share: ofOptions(
    ({ offered }) => offered.rareWords / Math.max(1, offered.distinctWords.length),
  ),
  option_distinct_share: ofOptions(
    ({ offered }) => offered.distinctWords.length / Math.max(1, offered.words),
  ),
  option_all_or_none: ofOptions(({ options }) =>
    /(?:all|none|both) of the|\bnone\b/i.test(options) ? 1 : 0,
  ),
  option_numerals: ofOptions(({ options }) => (/\b(?:I{1,3}|IV|V)\b/.test(options) ? 1 : 0)),
  option_true_false: ofOptions(({ options }) => (/true|false|wrong/i.test(options) ? 1 : 0)),
  ...Object.fromEntries(
    CUES.map((cue, index): [string, Feature] => [`cue_${cue}`, ({ asked }) => log(asked.cues[index]!)]),
  ),
}

export const FEATURES: readonly string[] = Object.keys(FEATURE_TABLE)
const FUNCTIONS: readonly Feature[] = Object.values(FEATURE_TABLE)

/**
 * Computes a prompt's features in one pass over at most 12,000 of its characters. Quoted passages are removed, and a
 * repeated sentence or line counts once, so that neither length nor repetition costs time or raises the difficulty.
 */
export function promptFeatures(prompt: string, rarity: Uint8Array): PromptFeatures {
  const { question: asked, options } = splitOptions(withoutPassages(clipped(prompt)))
  const question = withoutRepeats(asked)
  const scanned: ScannedPrompt = {
    question,
    options,
    asked: scanText(question, rarity),
    offered: scanText(options, rarity),
    optionLines: options === '' ? [] : options.split('\n').filter((line) => OPTION.test(line)),
  }
  const values = new Float64Array(FUNCTIONS.length)
  for (let index = 0; index < values.length; index++) values[index] = FUNCTIONS[index]!(scanned)
  return { values, questionWords: scanned.asked.distinctWords, question }
}

/** Minimum length of a passage; shorter material counts as part of the question. */
const PASSAGE_CHARS = 400
/** Minimum length of a passage's paragraphs; shorter lines, such as the conditions of a puzzle, are kept. */
const PARAGRAPH_CHARS = 80
/** Maximum length of a first or last line of prose that counts as the instruction. */
const FIRST_INSTRUCTION_CHARS = 240
const LAST_INSTRUCTION_CHARS = 100

/**
 * `question` and `instruction` state the task. `marked`: between fences or tags, quoted, a row of a table or a line of
 * code. `item`: of a list, which counts as part of the question. `option`: a lettered option, which is parsed
 * separately.
 */
type LineKind = 'question' | 'instruction' | 'item' | 'marked' | 'prose' | 'option' | 'blank'

/**
 * Removes the passages that a question is about: quoted documents, code and tables, detected by structure and length. A
 * passage makes a prompt long and full of rare words and numbers, but hardly harder. Nothing is removed if no question
 * or instruction would remain. Linear in the length of the text.
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

/** A long quotation. The opening mark must not follow a word, so that the text between two quotations does not match. */
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

/** Whether lines of one kind are a passage: long and, unless they are marked, in paragraphs. */
function isPassage(run: readonly string[], kind: LineKind): boolean {
  if (kind !== 'marked' && kind !== 'prose') return false
  const chars = run.reduce((sum, line) => sum + line.length, 0)
  if (chars < PASSAGE_CHARS) return false
  return kind === 'marked' || chars >= PARAGRAPH_CHARS * run.filter((line) => line !== '').length
}

const LAST_QUESTION_CHARS = 300
const LAST_QUESTION = /(?<=[.!?:;"”\n]\s)[^.!?\n]*\?["”]?\s*$/

/** The question at the end of a passage, if any. */
const lastQuestion = (passage: string): string =>
  LAST_QUESTION.exec(passage.slice(-LAST_QUESTION_CHARS))?.[0] ?? ''

/** The rest of a removed passage: the fence that marks code, and a last question. */
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
  // A passage that ends in a question may start with a short line that belongs to it.
  const beginsPassage = kinds[last] === 'question' && kinds[first + 1] === 'prose'
  if (!beginsPassage && isInstruction(first, FIRST_INSTRUCTION_CHARS)) kinds[first] = 'instruction'
  const lastChars = firstOption < 0 ? LAST_INSTRUCTION_CHARS : PASSAGE_CHARS
  if (isInstruction(last, lastChars) && (lines[last]!.match(WORD)?.length ?? 0) > 1)
    kinds[last] = 'instruction'
  return kinds
}

/** Lines beside these words are the task itself. */
const STATES_TASK =
  /\b(?:solve|prove|implement|complete|design|build|create|compute|calculate|determine|derive|problem|puzzle|program|function)\b/i
const WORD = /\p{L}{2,}/gu
/** "Answer:" and the like. */
const LABEL_ONLY = /^[ \t]*\w+:?[ \t]*$/
const OPTION = /^[ \t]*\(?[A-Z][.):]/
const LIST_ITEM = /^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]/
/** A line of a transcript, which is addressed to another speaker. */
const SPEAKER = /^[ \t]*(?!question|query|task|instruction|q:)[\w.' -]{1,30}:[ \t]/i
/** Between bars, of three columns by tabs, or of four by commas. */
const TABLE_ROW = /^[ \t]*\||\t[^\t]*\t|^(?:[^,]{1,40},){3,}[^,]{0,40}$/
/** Ends like a statement, is indented, or starts with a keyword and ends like the head of a block. */
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
/** A tag other than these, which enclose the task. */
const OPENING_TAG =
  /^[ \t]*[<[](?!(?:problem|question|query|task|instructions?|prompt)\b)([A-Za-z][\w-]*)[^<>[\]]*[>\]]/i
const CLOSING_TAG = /[<[]\/([A-Za-z][\w-]*)[>\]]/g

/** The lines between fences, or between a tag at the start of a line and its closing tag. */
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

const REPEATS_LOOKED_FOR_FROM_CHARS = 300
const REPEATED_PIECE_CHARS = 12

/** The first and last characters of a text that is too long. */
export function clipped(text: string, headChars = 8_000, tailChars = 4_000): string {
  if (text.length <= headChars + tailChars) return text
  return `${text.slice(0, headChars)}\n${text.slice(-tailChars)}`
}

const FIRST_OPTION = /(?:^|\n)[ \t]*\(?A[.):]/
const SECOND_OPTION = /\n[ \t]*\(?B[.):]/

/** Splits a text into the part before its lettered options and the options. */
export function splitOptions(text: string): Pick<ScannedPrompt, 'question' | 'options'> {
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
