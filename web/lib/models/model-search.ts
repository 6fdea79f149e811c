import { type CatalogModel, canonicalId } from './model-catalog.ts'

/** How well a model fits a search; the lower the better. */
const EXACT = 0
const FIRST_WORDS = 1
const PREFIX = 2
const WORDS = 3
const PARTS = 4
const LETTERS = 5

/**
 * The models that fit what was typed, with how well: first those of exactly that id or name, then those that begin so,
 * then those with words that begin so, then those that contain it. Only when nothing does, those that have the letters
 * in order. An alias (`openai/gpt-5`, `gpt-5:nitro`) fits its model exactly.
 */
export function searchModels(models: readonly CatalogModel[], query: string): Map<CatalogModel, number> {
  const typed = spelled(canonicalId(query.trim().toLowerCase()))
  const words = typed.split(' ').filter(Boolean)
  if (words.length === 0) return new Map(models.map((model) => [model, EXACT]))
  const found = new Map<CatalogModel, number>()
  for (const model of models) {
    const fit = fitOf(model, typed, words)
    if (fit !== null) found.set(model, fit)
  }
  const letters = words.join('')
  if (found.size > 0 || letters.length < 3) return found
  for (const model of models)
    if (hasInOrder(`${model.maker}${model.name}`, letters) || hasInOrder(model.id, letters))
      found.set(model, LETTERS)
  return found
}

/** Words without case, in one spelling: `GPT-5 Mini` and `gpt_5-mini` are the same. */
const spelled = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.]+/gu, ' ')
    .trim()

/** What a model is found by, spelled once: hundreds of models are searched at every key. */
interface SearchText {
  names: string[]
  text: string
  words: string[]
}

const known = new WeakMap<CatalogModel, SearchText>()

function searchText(model: CatalogModel): SearchText {
  const before = known.get(model)
  if (before) return before
  const id = spelled(model.id)
  const tail = spelled(model.id.slice(model.id.lastIndexOf('/') + 1))
  const name = spelled(model.name)
  const maker = spelled(model.maker)
  const text = `${id} ${name} ${maker}`
  const made = { names: [id, tail, name, `${maker} ${name}`], text, words: text.split(' ') }
  known.set(model, made)
  return made
}

function fitOf(model: CatalogModel, typed: string, words: readonly string[]): number | null {
  const { names, text, words: all } = searchText(model)
  if (names.includes(typed)) return EXACT
  if (names.some((each) => each.startsWith(`${typed} `))) return FIRST_WORDS
  if (names.some((each) => each.startsWith(typed))) return PREFIX
  if (words.every((word) => all.some((each) => each.startsWith(word)))) return WORDS
  return words.every((word) => text.includes(word)) ? PARTS : null
}

function hasInOrder(text: string, letters: string): boolean {
  let at = 0
  for (const letter of text.toLowerCase()) if (letter === letters[at]) at += 1
  return at === letters.length
}
