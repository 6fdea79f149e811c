/** What is known of a provider's own list of models. */
export interface ListingState {
  /** Upstream models we offer and it does not list → how many lists in a row. */
  missing: Record<string, number>
  /** Models it lists. */
  listed: number
  /** Models it lists and we do not offer, some of them. */
  appeared: string[]
  /** Unix milliseconds of the last list that was believed. */
  readAt: number
}

export type ListingVerdict =
  | { kind: 'noted'; state: ListingState; unlisted: string[] }
  /** So much is gone that the list is more likely broken than true: nothing changes. */
  | { kind: 'implausible'; missing: number; offered: number }

/** An offer is not used once this many lists in a row are without it. */
const LISTS_WITHOUT = 2
const APPEARED_MAX = 200
/** Providers with fewer offers may lose most of them at once; a list that is empty is never believed. */
const FEW_OFFERS = 3

/**
 * What a provider's list means for our offers there. Pure.
 * @param offered upstream models we offer there, also those that are not used for being unlisted
 */
export function noteListing(
  previous: ListingState | null,
  offered: readonly string[],
  listed: ReadonlySet<string>,
  nowMs: number,
): ListingVerdict {
  const gone = offered.filter((model) => !isListed(model, listed))
  const isMost = gone.length * 2 > offered.length
  if (listed.size === 0 || (isMost && offered.length >= FEW_OFFERS)) {
    return { kind: 'implausible', missing: gone.length, offered: offered.length }
  }
  const missing = Object.fromEntries(gone.map((model) => [model, (previous?.missing[model] ?? 0) + 1]))
  const known = new Set(offered.map(plainName))
  const appeared = [...listed].filter((model) => !known.has(model)).sort()
  return {
    kind: 'noted',
    state: { missing, listed: listed.size, appeared: appeared.slice(0, APPEARED_MAX), readAt: nowMs },
    unlisted: unlistedOf(missing),
  }
}

/** The upstream models that a state says are not to be used. */
export const unlistedOf = (missing: ListingState['missing']): string[] =>
  Object.keys(missing).filter((model) => missing[model]! >= LISTS_WITHOUT)

const isListed = (model: string, listed: ReadonlySet<string>): boolean =>
  listed.has(model) || listed.has(plainName(model))

/** Without what follows a colon: a router lists the model, and takes with it who is to serve it. */
const plainName = (model: string): string => model.replace(/:[a-z0-9-]+$/, '')
