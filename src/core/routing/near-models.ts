import { type CatalogSnapshot, isAvailable, type Model, type ModelKind } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'

const SUGGESTIONS_MAX = 3
/** Maximum compared characters, so that a long unknown id costs no more to look up. */
const COMPARED_CHARS = 80
/** Minimum Dice coefficient of the letter pairs of two near names. */
const NEAR_FROM = 0.6

/** A name in its compared form: without its vendor, in lower case, with one kind of separator. */
const comparable = (id: string): string =>
  id
    .slice(0, COMPARED_CHARS)
    .slice(id.lastIndexOf('/', COMPARED_CHARS) + 1)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')

interface KnownName {
  model: Model
  pairs: ReadonlySet<string>
}

const namesOf = oncePer(({ models }: CatalogSnapshot): KnownName[] =>
  [...models.values()].map((model) => ({ model, pairs: pairsOf(comparable(model.id)) })),
)

/** The letter pairs of a name, including its start and end. */
function pairsOf(name: string): Set<string> {
  const padded = `^${name}$`
  const pairs = new Set<string>()
  for (let index = 0; index + 1 < padded.length; index++) pairs.add(padded.slice(index, index + 2))
  return pairs
}

/**
 * Ids of the pricing feed that are similar to an unknown one: another case or separator, a missing vendor, a typo. Of
 * the requested kind, nearest first, of equal ones available models first, at most three. Takes a fraction of a
 * millisecond for 600 models, for any id.
 */
export function nearModelIds(name: string, catalog: CatalogSnapshot, kind: ModelKind = 'chat'): string[] {
  const pairs = pairsOf(comparable(name))
  const near = namesOf(catalog).flatMap(({ model, pairs: known }) => {
    if (model.kind !== kind) return []
    let shared = 0
    for (const pair of pairs) if (known.has(pair)) shared += 1
    const likeness = (2 * shared) / (pairs.size + known.size)
    return likeness >= NEAR_FROM ? [{ model, likeness }] : []
  })
  return near
    .sort(
      (a, b) =>
        b.likeness - a.likeness ||
        Number(isAvailable(b.model)) - Number(isAvailable(a.model)) ||
        (a.model.id < b.model.id ? -1 : 1),
    )
    .slice(0, SUGGESTIONS_MAX)
    .map(({ model }) => model.id)
}
