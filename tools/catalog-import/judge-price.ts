import { DATA_SOURCES, type ListedPrice, type Listing } from './listing.ts'

/**
 * One provider's price of one model, from the data packages: the price that most of them list. Where no two
 * agree, the newest package decides for a maker, since list prices change from one day to another, and the
 * higher of each rate for a host, so that our cost is never underestimated.
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
  // A source without a price for long prompts does not contradict one that has it.
  const long = prices.map((price) => price.long).filter((each) => each !== null)
  return {
    prompt: agreed.prompt,
    completion: agreed.completion,
    ...mediaPrices(prices, agreed.prompt, isMaker),
    long:
      agreed.long ??
      long.find((each) => each.prompt >= agreed.prompt && each.completion >= agreed.completion) ??
      null,
  }
}

/** As with prices: the newest listed at a maker, the highest at a host; none where it equals the prompt's. */
function mediaPrices(
  prices: readonly ListedPrice[],
  prompt: number,
  isMaker: boolean,
): Pick<ListedPrice, 'promptAudio' | 'promptImage'> {
  const kinds = ['promptAudio', 'promptImage'] as const
  const judged = kinds.flatMap((kind) => {
    const listed = prices.flatMap((price) => price[kind] ?? [])
    const price = isMaker ? listed[0] : listed.toSorted((a, b) => b - a)[0]
    return price === undefined || price === prompt ? [] : [[kind, price] as const]
  })
  return Object.fromEntries(judged)
}

const dearest = (prices: readonly ListedPrice[]): ListedPrice => ({
  prompt: Math.max(...prices.map((price) => price.prompt)),
  completion: Math.max(...prices.map((price) => price.completion)),
  long: null,
})
