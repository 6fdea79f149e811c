import { promptFeatures } from '../../src/core/auto/difficulty/prompt-features.ts'
import type { Example } from './heads.ts'
import { rarityTable } from './rarity-table.ts'
import { readRouterRows } from './router-rows.ts'

/** Reads a file of rows with the features of their prompts. */
export function readExamples(path: string): Example[] {
  const rarity = rarityTable()
  return readRouterRows(path).map((row) => ({ row, features: promptFeatures(row.prompt, rarity) }))
}
