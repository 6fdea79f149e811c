import type { Model } from '../catalog/catalog.ts'

const PICO_PER_USD_PER_MILLION = 1_000_000

/** Mean list price in USD per million tokens, three of prompt to one of completion. */
export function listUsd({ listPrice }: Pick<Model, 'listPrice'>): number {
  return Number(listPrice.prompt * 3n + listPrice.completion) / 4 / PICO_PER_USD_PER_MILLION
}
