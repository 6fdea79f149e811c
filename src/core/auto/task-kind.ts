import { FEATURES, type PromptFeatures } from './difficulty/prompt-features.ts'
import type { TaskKind } from './quality-figure.ts'

const at = (name: string) => {
  const index = FEATURES.indexOf(name)
  if (index < 0) throw new Error(`there is no feature ${name}`)
  return index
}

const OPTIONS = at('options')
const NUMERIC_OPTIONS = at('option_numeric_share')
const FENCE = at('code_fence')
const CODE_WORDS = at('cue_code')
const BRACES = at('braces')
const IDENTIFIERS = at('underscores_in_words')
const MATHEMATICS = at('cue_mathematics')
const COMPUTE = at('cue_compute')
const NOTATION = ['math_signs', 'dollars', 'backslashes'].map(at)
const COUNTS = ['numbers', 'operators', 'cue_mathematics'].map(at)
const CHAT_WORDS = ['cue_everyday', 'cue_simple', 'cue_create'].map(at)

/** Counts are logarithms of one more. */
const TWO = Math.log1p(2)

/** The kind of a prompt, by plain rules over its features; the first that applies. */
export function taskKind({ values }: Pick<PromptFeatures, 'values'>): TaskKind {
  const has = (feature: number) => values[feature]! > 0
  const hasTwo = (feature: number) => values[feature]! >= TWO
  if (has(OPTIONS)) return values[NUMERIC_OPTIONS]! >= 0.5 ? 'numeric_options' : 'worded_options'
  if (has(FENCE) || hasTwo(CODE_WORDS) || (has(BRACES) && has(IDENTIFIERS))) return 'code'
  if (NOTATION.some(has)) return 'formulas'
  if (CHAT_WORDS.some(has) && !has(MATHEMATICS) && !has(COMPUTE)) return 'chat'
  return COUNTS.some(hasTwo) ? 'formulas' : 'other'
}
