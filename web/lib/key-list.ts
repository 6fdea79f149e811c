import type { KeyView } from '../../src/core/api/keys.ts'
import { approximateAmount } from './format.ts'

/** How the page of keys is searched, filtered and sorted, as its address has it; `page`: from 1, of the keys in use. */
export type KeySearch = Partial<Record<'q' | 'state' | 'sort' | 'order' | 'page', string>>

export const isInUse = ({ state }: KeyView): boolean => state === 'active' || state === 'paused'

const isSpent = (key: KeyView): boolean =>
  key.remaining_usd !== null && approximateAmount(key.remaining_usd) <= 0

/** The states to filter by: a key in use whose limit is reached is not an active one. */
const STATES: Record<string, (key: KeyView) => boolean> = {
  active: (key) => key.state === 'active' && !isSpent(key),
  paused: ({ state }) => state === 'paused',
  limit_reached: (key) => isInUse(key) && isSpent(key),
  expired: ({ state }) => state === 'expired',
  revoked: ({ state }) => state === 'revoked',
}

/** What the columns are sorted by; a missing figure is the smallest. */
const FIGURES: Record<string, (key: KeyView) => number | string> = {
  name: ({ name, hint }) => (name || hint).toLowerCase(),
  spent: ({ spent_usd }) => approximateAmount(spent_usd),
  limit: ({ limit_usd }) => (limit_usd === null ? Number.POSITIVE_INFINITY : approximateAmount(limit_usd)),
  used: ({ last_used_at }) => last_used_at ?? '',
  created: ({ created_at }) => created_at,
}

export const keyOrder = ({ sort = '', order }: KeySearch) => ({
  by: sort in FIGURES ? sort : 'created',
  isAscending: order === 'asc',
})

/** The keys that the search and the filter leave, in its order. Equal ones stay as the gateway lists them: newest first. */
export function listKeys(keys: readonly KeyView[], search: KeySearch): KeyView[] {
  const { q = '', state = '' } = search
  const { by, isAscending } = keyOrder(search)
  const text = q.trim().toLowerCase()
  const figure = FIGURES[by]!
  return keys
    .filter((key) => STATES[state]?.(key) ?? true)
    .filter(({ name, hint, id }) => [name, hint, id].some((part) => part.toLowerCase().includes(text)))
    .toSorted((a, b) => {
      const [x, y] = isAscending ? [figure(a), figure(b)] : [figure(b), figure(a)]
      return x < y ? -1 : x > y ? 1 : 0
    })
}
