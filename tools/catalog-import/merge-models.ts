import type { DocumentModel, DocumentOffer, DocumentPrices } from '../../src/core/catalog/catalog-document.ts'
import { plainDecimal } from '../../src/core/kernel/money.ts'
import { catalogId } from './canonical-id.ts'
import type { ListedPrice } from './listing.ts'
import type { ImportedOffer } from './read-offers.ts'
import { distinctNames, readableName } from './readable-name.ts'

const RATE_DECIMALS = 6
/** An offer this much cheaper than the list price is a slip of the data, or a promotion that ends. */
const IMPLAUSIBLY_CHEAP = 0.2

export interface MergedModels {
  models: DocumentModel[]
  /** Models left out, by reason. */
  leftOut: Record<string, number>
}

/** Puts the offers of each model together into the models of a catalog document, sorted by id. */
export function mergeModels(
  offers: readonly ImportedOffer[],
  isOpen: (key: string, id: string) => boolean,
  windowsElsewhere: (key: string) => number[],
  releasedAt: ReadonlyMap<string, string>,
): MergedModels {
  const leftOut: Record<string, number> = {}
  const models: DocumentModel[] = []
  for (const [key, all] of Map.groupBy(offers, ({ canonical }) => canonical.key)) {
    const { vendor, name } = spelling(all)
    const openWeights = isOpen(key, `${vendor}/${name}`)
    const result = toModel(all, openWeights, windowsElsewhere)
    const released = releasedAt.get(key)
    if (typeof result === 'string') leftOut[result] = (leftOut[result] ?? 0) + 1
    else models.push({ ...result, ...(released !== undefined && { released_at: released }) })
  }
  return { models: distinctNames(models.sort((a, b) => (a.id < b.id ? -1 : 1))), leftOut }
}

/** The maker's own spelling of the name, or the newest source's. */
const spelling = (all: readonly ImportedOffer[]) => (makersOwn(all) ?? all[0]!).canonical

const makersOwn = (all: readonly ImportedOffer[]) =>
  all.find(({ provider, canonical }) => provider.maker === canonical.vendor)

/** That package keeps entries of models that are switched off; those from before its windows are not trusted. */
const isOldEntry = ({ listings }: ImportedOffer): boolean =>
  listings.every(({ source, contextLength }) => source === 'genai-prices' && contextLength === null)

function toModel(
  all: ImportedOffer[],
  openWeights: boolean,
  windowsElsewhere: (key: string) => number[],
): DocumentModel | string {
  const own = makersOwn(all)
  const canonical = spelling(all)
  if (!own && canonical.name.endsWith('-latest')) return "a reseller's alias"
  if (!own && all.every(isOldEntry)) return 'perhaps switched off'
  const list = (own ?? median(all)).price
  const offers = all.filter((offer) => offer === own || isPlausible(offer.price, list))
  const served = offers.filter(({ listings }) => listings.some(({ onChatPath }) => onChatPath))
  if (served.length === 0) return 'not on a chat-completions path'
  const contextLength =
    commonWindow(offers.flatMap(({ windows }) => windows)) ?? commonWindow(windowsElsewhere(canonical.key))
  if (contextLength === null) return 'no context window known'
  const maxOutput = own ? (firstOf(own, 'maxOutputTokens') ?? longest(offers)) : longest(offers)
  const deprecatedAt = own?.listings.find((listing) => listing.deprecatedAt !== undefined)?.deprecatedAt
  const reasoning = anyOf(own ? [own] : offers, 'reasoning')
  return {
    id: catalogId(canonical),
    name: displayName(all, canonical.name),
    vendor: canonical.vendor,
    context_length: contextLength,
    // A limit as large as the window is none: sources put the window there where they know no limit.
    ...(maxOutput !== null && maxOutput < contextLength && { max_output_tokens: maxOutput }),
    input_modalities: modalities(own ? [own] : offers),
    supported_parameters: supportedParameters(all, canonical.vendor, reasoning, openWeights),
    reasoning,
    open_weights: openWeights,
    ...(deprecatedAt !== undefined && { deprecated_at: deprecatedAt }),
    list_price: prices(list),
    offers: served.map((offer) => toOffer(offer, list, contextLength)),
  }
}

function toOffer(offer: ImportedOffer, list: ListedPrice, modelWindow: number): DocumentOffer {
  const window = firstOf(offer, 'contextLength')
  const maxOutput = firstOf(offer, 'maxOutputTokens')
  const { price } = offer
  const kinds = ['prompt', 'completion', 'promptAudio', 'promptImage'] as const
  const differs =
    kinds.some((kind) => price[kind] !== undefined && price[kind] !== list[kind]) ||
    price.cacheRead !== list.cacheRead ||
    price.cacheWrite !== list.cacheWrite
  const { long } = offer.price
  return {
    provider: offer.provider.provider.id,
    upstream_model: offer.upstreamModel,
    ...(differs && { list_price: prices(offer.price) }),
    ...(long && { long_prompt: { above_tokens: long.aboveTokens, ...prices(long) } }),
    ...(window !== null && window < modelWindow && { context_length: window }),
    ...(window !== null && maxOutput !== null && maxOutput < modelWindow && { max_output_tokens: maxOutput }),
    // A maker's own service is the reference for how its tool calls look.
    ...(offer.provider.maker === offer.canonical.vendor && { exact_tools: true }),
  }
}

const weight = ({ prompt, completion }: ListedPrice): number => 3 * prompt + completion

/** Without a maker's own price the hosts' median stands for it; of two in the middle the dearer one. */
function median(offers: readonly ImportedOffer[]): ImportedOffer {
  const sorted = offers.toSorted((a, b) => weight(a.price) - weight(b.price))
  return sorted[Math.floor(sorted.length / 2)]!
}

const isPlausible = (price: ListedPrice, list: ListedPrice): boolean =>
  price.prompt >= list.prompt * IMPLAUSIBLY_CHEAP && price.completion >= list.completion * IMPLAUSIBLY_CHEAP

const firstOf = (offer: ImportedOffer, field: 'contextLength' | 'maxOutputTokens'): number | null =>
  offer.listings.map((listing) => listing[field]).find((value) => value !== null) ?? null

const known = (offers: readonly ImportedOffer[], field: 'contextLength' | 'maxOutputTokens'): number[] =>
  offers.map((offer) => firstOf(offer, field)).filter((value) => value !== null)

const maximum = (values: number[]): number | null => (values.length === 0 ? null : Math.max(...values))
const longest = (offers: readonly ImportedOffer[]): number | null => maximum(known(offers, 'maxOutputTokens'))

/** Windows this near each other are one: 1,000,000 and 1,048,576. */
const SAME_WINDOW = 1.06

/** The window that most listings give, the wider one of two that are given as often. */
function commonWindow(windows: readonly number[]): number | null {
  const all = windows.toSorted((a, b) => b - a)
  const counts = all.map((window) => all.filter((other) => isSame(window, other)).length)
  const most = Math.max(...counts)
  const common = all.filter((_window, index) => counts[index] === most)
  return common[0] ?? null
}

const isSame = (a: number, b: number): boolean => Math.max(a, b) / Math.min(a, b) < SAME_WINDOW

const anyOf = (offers: readonly ImportedOffer[], field: 'reasoning' | 'tools' | 'responseFormat'): boolean =>
  offers.some(({ listings }) => listings.some((listing) => listing[field] === true))

const MODALITIES = ['text', 'image', 'file', 'audio', 'video']

/** At its maker what any source lists; otherwise what most of the offers take that list any modality. */
function modalities(offers: readonly ImportedOffer[]): string[] {
  const listed = offers.map(
    ({ listings }) => new Set(listings.flatMap(({ inputModalities }) => inputModalities ?? [])),
  )
  const stated = listed.filter((set) => set.size > 0)
  return MODALITIES.filter(
    (modality) => modality === 'text' || stated.filter((set) => set.has(modality)).length * 2 > stated.length,
  )
}

function supportedParameters(
  all: readonly ImportedOffer[],
  vendor: string,
  reasoning: boolean,
  openWeights: boolean,
): string[] {
  const tools = anyOf(all, 'tools')
  const parameters = tools ? ['tools'] : []
  // Claude models without structured output are instructed to write JSON.
  if (vendor === 'anthropic' || tools || anyOf(all, 'responseFormat')) parameters.push('response_format')
  // Closed reasoning models of these makers take no sampling parameters.
  const fixed = reasoning && !openWeights && (vendor === 'openai' || vendor === 'anthropic')
  return fixed ? parameters : [...parameters, 'temperature', 'top_p']
}

/** Without the vendor before it and the remark after it; made of the id where no source has one. */
function displayName(all: readonly ImportedOffer[], fallback: string): string {
  const own = makersOwn(all)
  const listings = [...(own ? [own] : []), ...all].flatMap((offer) => offer.listings)
  const name = listings.map((listing) => listing.name).find((each) => each !== null)
  return (name ?? readableName(fallback)).replace(/^[^:]{1,40}: /, '').replace(/ \(latest\)$/, '')
}

const prices = ({
  prompt,
  completion,
  promptAudio: audio,
  promptImage: image,
  cacheRead,
  cacheWrite,
}: Omit<ListedPrice, 'long'>): DocumentPrices => ({
  prompt: decimal(prompt),
  completion: decimal(completion),
  ...(audio !== undefined && { prompt_audio: decimal(audio) }),
  ...(image !== undefined && { prompt_image: decimal(image) }),
  ...(cacheRead !== undefined && { cache_read: decimal(cacheRead) }),
  ...(cacheWrite !== undefined && { cache_write: decimal(cacheWrite) }),
})

/** The decimal text of a price. Throws RangeError where six decimals cannot hold it exactly. */
function decimal(price: number): string {
  const text = plainDecimal(price, RATE_DECIMALS)
  if (text === null || Number(text) !== price) throw new RangeError(`${price} has more than six decimals`)
  return text
}
