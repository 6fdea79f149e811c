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
    prompt: agreed.prompt,
    completion: agreed.completion,
    ...mediaPrices(prices, agreed.prompt, isMaker),
    long:
      agreed.long ??
      long.find((each) => each.prompt >= agreed.prompt && each.completion >= agreed.completion) ??
      null,
  }
}

/** As with prices: the newest that says one at a maker, the dearest at a host; none where it is the prompt's own. */
function mediaPrices(
  prices: readonly ListedPrice[],
  prompt: number,
  isMaker: boolean,
): Pick<ListedPrice, 'promptAudio' | 'promptImage'> {
  const kinds = ['promptAudio', 'promptImage'] as const
  const judged = kinds.flatMap((kind) => {
    const said = prices.flatMap((price) => price[kind] ?? [])
    const price = isMaker ? said[0] : said.toSorted((a, b) => b - a)[0]
    return price === undefined || price === prompt ? [] : [[kind, price] as const]
  })
  return Object.fromEntries(judged)
}

const dearest = (prices: readonly ListedPrice[]): ListedPrice => ({
  prompt: Math.max(...prices.map((price) => price.prompt)),
  completion: Math.max(...prices.map((price) => price.completion)),
  long: null,
})
