import { type PromptParts, promptParts } from './prompt-parts.ts'
import { CUES, EMPTY_WORD, extendWord, scanText, type TextScan } from './scan-text.ts'

/** A prompt, read once. */
interface ScannedPrompt extends PromptParts {
  asked: TextScan
  offered: TextScan
  /** Lines of the lettered options. */
  optionLines: string[]
}

export interface PromptFeatures {
  /** In the order of FEATURES; NaN where a feature says nothing about this prompt. */
  values: Float64Array
  /** Hashes of the distinct words, numbers and signs of the question, and of the words of its options. */
  words: readonly number[]
  hasOptions: boolean
}

type Feature = (prompt: ScannedPrompt) => number

const log = Math.log1p
const words = ({ asked }: ScannedPrompt) => Math.max(1, asked.words)
/** A text that says few words again and again is no longer for it. */
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
/** Word rarity is known for English only; elsewhere it says nothing. */
const ofEnglish =
  (feature: Feature): Feature =>
  (prompt) =>
    prompt.asked.commonWords / distinct(prompt) < ENGLISH_COMMON_SHARE ? Number.NaN : feature(prompt)

const ofOptions =
  (feature: Feature): Feature =>
  (prompt) =>
    prompt.optionLines.length === 0 ? 0 : feature(prompt)
const perOption = (count: number, { optionLines }: ScannedPrompt) => log(count / optionLines.length)

const OPTION_LINE = /^[ \t]*\(?[A-Z][.):]/
const NUMERIC_OPTION = /^[ \t]*\(?[A-Z][.):]\)?\s*[-+$€£]?[\d.]/
const shareOf = (lines: readonly string[], pattern: RegExp) =>
  lines.filter((line) => pattern.test(line)).length / lines.length

/** Every feature of a prompt's form. Counts are logarithms, so that piling up signs saturates. */
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

/** Reads a prompt's features: one pass over at most 12,000 of its characters. */
export function promptFeatures(prompt: string, rarity: Uint8Array): PromptFeatures {
  const parts = promptParts(prompt)
  const scanned: ScannedPrompt = {
    ...parts,
    asked: scanText(parts.question, rarity),
    offered: scanText(parts.options, rarity),
    optionLines:
      parts.options === '' ? [] : parts.options.split('\n').filter((line) => OPTION_LINE.test(line)),
  }
  const values = new Float64Array(FUNCTIONS.length)
  for (let index = 0; index < values.length; index++) values[index] = FUNCTIONS[index]!(scanned)
  return { values, words: tokens(scanned), hasOptions: scanned.optionLines.length > 0 }
}

/** A word says something else in an option than in the question. */
const IN_OPTIONS = 0x5bd1e995

function tokens({ asked, offered }: ScannedPrompt): number[] {
  const found = [...asked.distinctWords, ...asked.distinctNumbers]
  for (let code = FIRST_SIGN; code < asked.ascii.length; code++) {
    if (asked.ascii[code]! > 0 && !isAlphanumeric(code)) found.push(extendWord(EMPTY_WORD, code))
  }
  for (const hash of offered.distinctWords) found.push(hash ^ IN_OPTIONS)
  return found
}

const FIRST_SIGN = 33
const isAlphanumeric = (code: number): boolean => {
  const lower = code | 32
  return (code >= 48 && code <= 57) || (lower >= 97 && lower <= 122)
}
