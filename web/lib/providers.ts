import type { OfferView, ProviderView } from '../../src/core/api/offers.ts'

interface Counted {
  id: string
  last_ten_minutes: ProviderView['last_ten_minutes']
}

const attempts = ({ last_ten_minutes: { success, failure, rate_limited } }: Counted): number =>
  success + failure + rate_limited

/** The busiest first, then by id. */
export const busyFirst = <T extends Counted>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => attempts(b) - attempts(a) || (a.id < b.id ? -1 : 1))

/** Whether something of a provider is held back now, so that it is to be seen first. */
export const isAmiss = ({ breaker, health }: ProviderView): boolean =>
  breaker.breaker !== 'closed' || health.down + health.probe + health['rate-limited'] > 0

/** Held back now before usable ones, and what our calls cannot use at the end. */
const rank = ({ withheld, health }: OfferView): number =>
  withheld !== null ? 2 : health.state === 'ready' ? 1 : 0

/** The offers whose model or id has every word; those held back first, then the busiest. */
export function findOffers(offers: readonly OfferView[], search: string): OfferView[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = offers.filter(({ id, model }) => {
    const text = `${id} ${model}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return busyFirst(found).toSorted((a, b) => rank(a) - rank(b))
}
