import { DATA_SOURCES, type ListedPrice, type Listing } from './listing.ts'

/**
 * What one provider lists for one model, from what the data packages say of it. What most of them say holds.
 * Where no two agree: at a maker what the newest says, since a list price changes from one day to another;
 * at a host the dearer of each, since what we pay must not be taken for less than it is.
 */
export function judgePrice(
  witnesses: ReadonlyArray<Pick<Listing, 'source' | 'price'>>,
  isMaker: boolean,
): ListedPrice {
  const prices = witnesses
    .toSorted((a, b) => DATA_SOURCES.indexOf(a.source) - DATA_SOURCES.indexOf(b.source))
    .map((witness) => witness.price)
  const groups = [...Map.groupBy(prices, ({ prompt, completion }) => `${prompt} ${completion}`).values()]
  const largest = groups.toSorted((a, b) => b.length - a.length)[0]!
  const agreed = largest.length > 1 || isMaker || prices.length === 1 ? largest[0]! : dearest(prices)
  // One that forgets to say what long prompts cost is no witness against one that says it.
  const long = prices.map((price) => price.long).filter((each) => each !== null)
  return {
    ...agreed,
    long:
      agreed.long ??
      long.find((each) => each.prompt >= agreed.prompt && each.completion >= agreed.completion) ??
      null,
  }
}

const dearest = (prices: readonly ListedPrice[]): ListedPrice => ({
  prompt: Math.max(...prices.map((price) => price.prompt)),
  completion: Math.max(...prices.map((price) => price.completion)),
  long: null,
})
