import type { CatalogDocument } from '../../core/catalog/catalog-document.ts'
import type { AccountEntry } from '../gateway-file/gateway-document.ts'

/**
 * What a source becomes: the parts of a gateway file, and a note on everything that it has. A translator is a pure
 * function of its source and the catalog, so that a second import changes nothing.
 */
export interface Translation {
  catalog: Pick<CatalogDocument, 'providers' | 'models' | 'aliases' | 'changes'>
  accounts: AccountEntry[]
  notes: Note[]
}

/** `same`: it works as before; `differs`: what is different here; `lost`: it has no equal and is left out. */
export interface Note {
  kind: 'same' | 'differs' | 'lost'
  what: string
  text: string
}

/** The options of an import that translators need. */
export interface ImportOptions {
  /** The email of who owns what has no person of its own: teams without an admin, keys without a user. */
  owner: string | undefined
  /** USD for each account that is new and has no total of its own in the source. */
  credit: string | undefined
  environment: Readonly<Record<string, string | undefined>>
  /** The variables that edits of the catalog may name as keys. */
  keyNames: readonly string[]
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const recordOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
export const textsOf = (value: unknown): string[] => listOf(value).flatMap((one) => textOf(one) ?? [])

/** A number that sources hold as a float, an integer or, from a database, as text. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** A positive count, or null: what is 0 or absent in a source is no limit here. */
export const countOf = (value: unknown): number | null => {
  const count = Math.floor(numberOf(value) ?? 0)
  return count > 0 ? count : null
}

/** USD of a source's float as a decimal string, cut down to millionths. */
export const usdText = (usd: number): string => {
  const [whole = '0', decimals = ''] = (Math.floor(Math.max(usd, 0) * 1e6 + 1e-6) / 1e6).toFixed(6).split('.')
  return `${whole}.${decimals.replace(/0{1,4}$/, '')}`
}

/** Of the fields of a row those that hold something; what nothing here is like. */
export const heldFields = (row: Record<string, unknown>, names: readonly string[]): string[] =>
  names.filter((name) => {
    const value = row[name]
    if (value == null || value === false || value === '' || value === 0) return false
    return typeof value !== 'object' || Object.keys(value).length > 0
  })

/** Of several with one name, the later ones get a number. */
export function distinctNames<Entry extends { name: string }>(entries: readonly Entry[]): Entry[] {
  const seen = new Map<string, number>()
  return entries.map((entry) => {
    const count = (seen.get(entry.name) ?? 0) + 1
    seen.set(entry.name, count)
    return count === 1 ? entry : { ...entry, name: `${entry.name} ${count}` }
  })
}
