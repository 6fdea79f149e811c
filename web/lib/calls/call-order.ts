import type { CallSort } from '../../../src/core/api/calls.ts'

/** The order of a list of calls and the place in it, as an address has them; what is absent is the default. */
export interface CallPlace {
  sort?: string
  order?: string
  /** A day and a time of day where the page begins: `2027-01-31T14:00`. */
  at?: string
  cursor?: string
}

export const PLACE_PARAMETERS = ['sort', 'order', 'at', 'cursor'] as const

const SORTS: readonly string[] = ['time', 'cost', 'first_token', 'duration', 'tokens'] satisfies CallSort[]

export const readOrder = ({ sort = '', order }: CallPlace) => ({
  by: SORTS.includes(sort) ? sort : 'time',
  isAscending: order === 'asc',
})

/** What changes in the address with another order: it has other pages. */
export const orderChange = (by: string, isAscending: boolean): CallPlace => ({
  sort: by === 'time' ? undefined : by,
  order: isAscending ? 'asc' : undefined,
  at: undefined,
  cursor: undefined,
})

/** The order and the place as the gateway takes them. `toIso` reads a local time; an unreadable one is left out. */
export function placeQuery(place: CallPlace, toIso: (at: string) => string | null) {
  const { by, isAscending } = readOrder(place)
  const at = place.at !== undefined && by === 'time' ? toIso(place.at) : null
  return {
    sort: by === 'time' ? undefined : by,
    order: isAscending ? 'asc' : undefined,
    cursor: place.cursor,
    at: at ?? undefined,
  }
}
