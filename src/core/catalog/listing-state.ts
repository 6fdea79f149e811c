export interface ListingState {
  /** Upstream models we offer and it does not list → number of consecutive lists without them. */
  missing: Record<string, number>
  listed: number
  /** Some of the models that it lists and we do not offer. */
  appeared: string[]
  /** Unix milliseconds of the last accepted list. */
  readAt: number
}

export type ListingVerdict =
  | { kind: 'noted'; state: ListingState; unlisted: string[] }
  /** So much is missing that the list is more likely broken: it is ignored. */
  | { kind: 'implausible'; missing: number; offered: number }

/** An offer is not used after this many consecutive lists without it. */
const LISTS_WITHOUT = 2
const APPEARED_MAX = 200
/** Providers with fewer offers may lose most of them at once; an empty list is never accepted. */
const FEW_OFFERS = 3

/**
 * Updates the state of a provider's offers from its model list. Pure.
 * @param offered upstream models we offer there, including unlisted ones
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

/** The upstream models that must not be used according to a state. */
export const unlistedOf = (missing: ListingState['missing']): string[] =>
  Object.keys(missing).filter((model) => missing[model]! >= LISTS_WITHOUT)

const isListed = (model: string, listed: ReadonlySet<string>): boolean =>
  listed.has(model) || listed.has(plainName(model))

/** Without the part after a colon: a router lists the bare model, and accepts the serving provider as a suffix. */
const plainName = (model: string): string => model.replace(/:[a-z0-9-]+$/, '')
