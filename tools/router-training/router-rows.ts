import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import ranks from 'gpt-tokenizer/bpeRanks/r50k_base'
import {
  clipped,
  type PromptFeatures,
  promptFeatures,
  splitOptions,
} from '../../src/core/auto/difficulty/prompt-features.ts'
import { hashWord, RAREST, RARITY_BITS, slotOf } from '../../src/core/auto/difficulty/scan-text.ts'
import type { WordVectors } from './word-vectors.ts'

/** One prompt with the quality of the completions of a weak and a strong tier of models. */
export interface RouterRow {
  id: string
  /** The data set it comes from. */
  dataset: string
  /** Data sets of one kind share a family. */
  family: string
  subject: string
  prompt: string
  /** Mean quality, 0 to 1. */
  weak: number
  strong: number
  /** The question without its punctuation: rows that share it never stand on both sides of a split. */
  key: string
  /** The wider field of the subject, across data sets. */
  field: string
  /** The quality of single models, 0 to 1; empty if none is named. */
  results: ReadonlyMap<string, number>
}

/** A row with its features, which do not depend on the split. */
export interface Example {
  row: RouterRow
  features: PromptFeatures
  /** The mean word vector of the question. */
  vector: Float64Array
}

/** Reads a file of rows with the features of their prompts. */
export function readExamples(path: string, vectors: WordVectors): Example[] {
  const rarity = rarityTable()
  return readRouterRows(path).map((row) => {
    const features = promptFeatures(row.prompt, rarity)
    return { row, features, vector: vectors.meanVector(features.questionWords) }
  })
}

/** Reads JSON lines, gzipped or not, with `id, ds, fam, cat, prompt, weak, strong` and maybe `pairs`. Throws on other lines. */
function readRouterRows(path: string): RouterRow[] {
  const bytes = readFileSync(path)
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => toRow(JSON.parse(line), index + 1))
}

function toRow(value: Record<string, unknown>, line: number): RouterRow {
  const { id, ds, fam, cat, prompt, weak, strong } = value
  const texts = [id, ds, fam, cat, prompt]
  if (!texts.every((text) => typeof text === 'string') || !isShare(weak) || !isShare(strong)) {
    throw new Error(`line ${line}: id, ds, fam, cat and prompt must be texts, weak and strong shares of 1`)
  }
  const [rowId, dataset, family, subject, question] = texts as [string, string, string, string, string]
  return {
    id: rowId,
    dataset,
    family,
    subject,
    prompt: question,
    weak,
    strong,
    key: splitOptions(clipped(question)).question.toLowerCase().replace(/\W+/g, ' ').trim(),
    field: fieldOf(subject, family),
    results: resultsOf(value.pairs, line),
  }
}

/** Reads `[[weakModel, strongModel, weakScore, strongScore], …]`. */
function resultsOf(pairs: unknown = [], line: number): Map<string, number> {
  const results = new Map<string, number>()
  for (const pair of pairs as unknown[][]) {
    const [weakModel, strongModel, weak, strong] = pair
    if (
      typeof weakModel !== 'string' ||
      typeof strongModel !== 'string' ||
      !isShare(weak) ||
      !isShare(strong)
    ) {
      throw new Error(`line ${line}: pairs must be of two models and their shares of 1`)
    }
    results.set(weakModel, weak).set(strongModel, strong)
  }
  return results
}

const isShare = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1

const FIELDS: Array<[RegExp, string]> = [
  [/^(?:gsm|crux|math-l)/, ''],
  [/math|algebra|statist/, 'mathematics'],
  [/physics|engineer|astron/, 'physics'],
  [/chemis/, 'chemistry'],
  [/computer|machine_learning/, 'computing'],
  [/business|account|manage|market|econom|public_rel/, 'business'],
  [/psych|sociol|human_sex/, 'psychology'],
  [/biol|medic|health|aging|nutri|virol|genet|anatomy/, 'health'],
  [/law|juris|moral|philos|logic|ethics|fallac/, 'law and philosophy'],
  [/history|geograph|govern|religion|policy/, 'history'],
]

/** A subject's field; that of a data set of one subject is the data set's family. */
function fieldOf(subject: string, family: string): string {
  const field = FIELDS.find(([pattern]) => pattern.test(subject))?.[1] ?? 'other'
  return field === '' ? family : field
}

const WHOLE_WORD = /^ [A-Za-z]+$/

/**
 * How rare English words are, from a vocabulary of byte pairs (gpt-tokenizer's r50k_base, MIT): a pair was
 * merged the sooner the more common it was, so a word's rank measures its rarity. Words that are no single token are
 * the rarest.
 */
export function rarityTable(): Uint8Array {
  const table = new Uint8Array(1 << RARITY_BITS).fill(RAREST)
  for (const [rank, token] of ranks.entries()) {
    if (typeof token !== 'string' || !WHOLE_WORD.test(token)) continue
    const slot = slotOf(hashWord(token.slice(1).toLowerCase()), RARITY_BITS)
    const level = Math.min(RAREST - 1, Math.floor(Math.log2(1 + rank / 64) * 1.5))
    table[slot] = Math.min(table[slot]!, level)
  }
  return table
}

/** Two slots a byte, the first in the low half. */
export function encodeRarity(table: Uint8Array): string {
  const bytes = Buffer.alloc(table.length / 2)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = table[2 * index]! | (table[2 * index + 1]! << 4)
  }
  return bytes.toString('base64')
}
