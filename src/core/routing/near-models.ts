import { type CatalogSnapshot, isAvailable, type Model, type ModelKind } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'

const SUGGESTIONS_MAX = 3
/** Of an unknown id, so that a long one costs no more to look up. */
const COMPARED_CHARS = 80
/** Dice coefficient of the letter pairs from which on two names are near. */
const NEAR_FROM = 0.6

/** A name as it is compared: without its vendor, in lower case, with one kind of separator. */
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

/** The neighbouring letters of a name, its beginning and end included. */
function pairsOf(name: string): Set<string> {
  const padded = `^${name}$`
  const pairs = new Set<string>()
  for (let index = 0; index + 1 < padded.length; index++) pairs.add(padded.slice(index, index + 2))
  return pairs
}

/**
 * Ids of the pricing feed that look like one that nobody has: another case or separator, a vendor that is missing, a
 * slip. Of the kind that is asked for, the nearest first, of equal ones those that can be called, three at the most. Takes a fraction of a
 * millisecond for 600 models, whatever is asked for.
 */
export function nearModelIds(asked: string, catalog: CatalogSnapshot, kind: ModelKind = 'chat'): string[] {
  const pairs = pairsOf(comparable(asked))
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
