import type {
  CatalogDocument,
  DocumentChanges,
  DocumentModel,
  DocumentOffer,
  DocumentPrices,
} from './catalog-document.ts'
import type { PublicEntry, PublicPrices } from './public-listings.ts'

/** Two prices are the same if they differ by at most this share. */
const PRICE_TOLERANCE = 0.01

/** An offer this much cheaper than the list price is an error of the lists, or a promotion that ends. */
const IMPLAUSIBLY_CHEAP = 0.2

/** A value of the catalog that public lists state otherwise. */
export interface PublicDifference {
  /** A model's id, or `<provider>/<name>` of an offer. */
  subject: string
  field: string
  catalog: string
  /** What each list states, as `<source>: <value>`. */
  stated: string[]
  /** The value that two lists agree on; null: none, so the catalog stays. */
  agreed: string | null
}

export interface CatalogRefresh {
  differences: PublicDifference[]
  changes: Required<Pick<DocumentChanges, 'models' | 'offers'>>
  /** Models that the document does not have, at prices on which two lists agree. */
  added: DocumentModel[]
  /** Offers likewise, of models that it has. A document of changes cannot add them. */
  addedOffers: Array<{ model: string; offer: DocumentOffer }>
}

/** Vendors by their own services. */
export const MAKERS: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  mistral: 'mistralai',
  deepseek: 'deepseek',
  xai: 'x-ai',
  moonshotai: 'moonshotai',
  minimax: 'minimax',
  zai: 'z-ai',
  alibaba: 'qwen',
  cohere: 'cohere',
  perplexity: 'perplexity',
  ai21: 'ai21',
  xiaomi: 'xiaomi',
}

/** Not chat models, or prices that are not those of a plain call. */
const NO_CHAT_MODEL =
  /embed|tts|whisper|audio|realtime|transcri|image|moderation|guard|ocr|rerank|deep-research|computer-use|robotics|search|preview|[:~@]|-(batch|auto|free|exp|beta)(-|$)/

/**
 * Compares the models of a document with public lists. A value is changed if two lists agree on another one. For a model's list
 * price, window and parameters the lists of its developer's own service and of OpenRouter count, for an offer's price those of its
 * provider. Schemas are the only evidence of `response_format`, so it is never removed; `temperature` is never added, since a
 * model that takes it may reject it while it thinks. Pure.
 */
export function refreshCatalog(document: CatalogDocument, entries: readonly PublicEntry[]): CatalogRefresh {
  const { models = [] } = document
  const listed = Map.groupBy(entries, ({ provider, model }) => keyOf(provider, model))
  const refresh: CatalogRefresh = {
    differences: [],
    changes: { models: [], offers: [] },
    added: [],
    addedOffers: [],
  }
  for (const model of models) {
    const own = model.offers.find(({ provider }) => MAKERS[provider] === model.vendor)
    const routed = model.offers.find(({ provider }) => provider === 'openrouter')
    const evidence = own
      ? [own, ...(routed ? [routed] : [])].flatMap(
          (offer) => listed.get(keyOf(offer.provider, offer.upstream_model))?.filter(isOf(offer)) ?? [],
        )
      : []
    const changed = compareModel(model, evidence, refresh)
    for (const offer of model.offers) {
      if (offer === own) continue
      const found = listed.get(keyOf(offer.provider, offer.upstream_model)) ?? []
      const current = offer.list_price ?? changed.list_price
      const price = comparePrice(`${offer.provider}/${offer.upstream_model}`, current, found, refresh)
      const { provider, upstream_model } = offer
      if (price) refresh.changes.offers.push({ provider, upstream_model, list_price: price })
    }
  }
  findNew(document, entries, refresh)
  return refresh
}

/** OpenRouter's own entry is evidence of a developer's price; what others list of OpenRouter is not. */
const isOf =
  ({ provider }: { provider: string }) =>
  ({ source }: PublicEntry): boolean =>
    provider !== 'openrouter' || source === 'openrouter'

const keyOf = (provider: string, model: string): string => `${provider} ${model.toLowerCase()}`

function compareModel(
  model: DocumentModel,
  evidence: readonly PublicEntry[],
  refresh: CatalogRefresh,
): DocumentModel {
  const change: Partial<DocumentModel> = {}
  const price = comparePrice(model.id, model.list_price, evidence, refresh)
  if (price) change.list_price = price
  const compare = <Value extends number | boolean>(
    field: string,
    current: Value | undefined,
    of: (entry: PublicEntry) => Value | undefined,
    isAllowed: (value: Value) => boolean = () => true,
  ): Value | null => {
    const stated = evidence.flatMap((entry) => {
      const value = of(entry)
      return value === undefined ? [] : [{ source: entry.source, value }]
    })
    const agreed = stated.find((one) =>
      stated.some((other) => other.source !== one.source && other.value === one.value),
    )
    if (!agreed || agreed.value === current || !isAllowed(agreed.value)) return null
    refresh.differences.push({
      subject: model.id,
      field,
      catalog: String(current ?? 'none'),
      stated: stated.map(({ source, value }) => `${source}: ${value}`),
      agreed: String(agreed.value),
    })
    return agreed.value
  }
  const window = compare('context_length', model.context_length, (entry) => entry.contextLength)
  if (window !== null) change.context_length = window
  const limit = compare(
    'max_output_tokens',
    model.max_output_tokens,
    (entry) => entry.maxOutputTokens,
    // Lists put the window there where they know no limit.
    (value) => value < (window ?? model.context_length),
  )
  if (limit !== null) change.max_output_tokens = limit
  const reasoning = compare('reasoning', model.reasoning ?? false, (entry) => entry.reasoning)
  if (reasoning !== null) change.reasoning = reasoning
  let parameters = model.supported_parameters ?? []
  for (const [names, of, mayChangeTo] of PARAMETERS) {
    const takes = compare(names[0]!, parameters.includes(names[0]!), of, mayChangeTo)
    if (takes === null) continue
    const others = parameters.filter((name) => !names.includes(name))
    parameters = PARAMETERS.flatMap(([all]) => all).filter(
      (name) => others.includes(name) || (takes && names.includes(name)),
    )
    change.supported_parameters = parameters
  }
  if (Object.keys(change).length > 0) refresh.changes.models.push({ id: model.id, ...change })
  return { ...model, ...change }
}

const PARAMETERS: ReadonlyArray<
  [names: string[], of: (entry: PublicEntry) => boolean | undefined, mayChangeTo: (value: boolean) => boolean]
> = [
  [['tools'], ({ tools }) => tools, () => true],
  [['response_format'], ({ responseFormat }) => responseFormat, (value) => value],
  [['temperature', 'top_p'], ({ temperature }) => temperature, (value) => !value],
]

/** Notes a difference of prices; the prices to use, or null to keep those of the catalog. */
function comparePrice(
  subject: string,
  current: DocumentPrices,
  evidence: readonly PublicEntry[],
  refresh: CatalogRefresh,
): DocumentPrices | null {
  const stated = evidence.flatMap(({ source, prices }) => (prices ? [{ source, prices }] : []))
  const known = { prompt: Number(current.prompt), completion: Number(current.completion) }
  if (stated.every(({ prices }) => isSamePrice(prices, known))) return null
  const agreed = agreedPrices(stated)
  if (agreed && isSamePrice(agreed, known)) return null
  refresh.differences.push({
    subject,
    field: 'list_price',
    catalog: priceText(known),
    stated: stated.map(({ source, prices }) => `${source}: ${priceText(prices)}`),
    agreed: agreed && priceText(agreed),
  })
  return agreed && toDocument(agreed, current)
}

type StatedPrices = ReadonlyArray<{ source: string; prices: PublicPrices }>

/** The prices of the first list with which another one agrees; of caches only those that two state alike. */
function agreedPrices(stated: StatedPrices): PublicPrices | null {
  for (const one of stated) {
    const others = stated.filter(
      ({ source, prices }) => source !== one.source && isSamePrice(prices, one.prices),
    )
    if (others.length === 0) continue
    const { prompt, completion, ...caches } = one.prices
    const agreed = Object.entries(caches).filter(([kind, price]) =>
      others.some(({ prices }) => isSame(prices[kind as keyof typeof caches], price)),
    )
    return { prompt, completion, ...Object.fromEntries(agreed) }
  }
  return null
}

const isSame = (a: number | undefined, b: number | undefined): boolean =>
  a !== undefined && b !== undefined && Math.abs(a - b) <= PRICE_TOLERANCE * Math.max(a, b)

const isSamePrice = (
  a: Pick<PublicPrices, 'prompt' | 'completion'>,
  b: Pick<PublicPrices, 'prompt' | 'completion'>,
): boolean => isSame(a.prompt, b.prompt) && isSame(a.completion, b.completion)

const priceText = ({ prompt, completion }: Pick<PublicPrices, 'prompt' | 'completion'>): string =>
  `${decimal(prompt)} / ${decimal(completion)}`

/** USD per million tokens with at most six decimals. */
const decimal = (usd: number): string => usd.toFixed(6).replace(/\.?0+$/, '')

/** Prices of media stay in proportion to the prompt. */
function toDocument({ prompt, completion, cacheRead, cacheWrite }: PublicPrices, current: DocumentPrices) {
  const scaled = (price: string) => decimal((Number(price) * prompt) / Number(current.prompt))
  return {
    prompt: decimal(prompt),
    completion: decimal(completion),
    ...(current.prompt_audio && { prompt_audio: scaled(current.prompt_audio) }),
    ...(current.prompt_image && { prompt_image: scaled(current.prompt_image) }),
    ...(cacheRead !== undefined && cacheRead <= prompt && { cache_read: decimal(cacheRead) }),
    ...(cacheWrite !== undefined && cacheWrite >= prompt && { cache_write: decimal(cacheWrite) }),
  }
}

/** The last part of a name, alike for all spellings: hosts write `5.5`, `5-5` and `5p5`. */
const plainName = (name: string): string =>
  name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/(\d)p(\d)/g, '$1-$2')
    .replace(/[._]/g, '-')

/** Offers by the plain name of their model: at the document's providers, at a price on which two lists agree. */
function offersByName(providers: ReadonlySet<string>, listed: ReadonlyMap<string, readonly PublicEntry[]>) {
  const offers = [...listed.values()].flatMap((all) => {
    const { provider, model } = all[0]!
    if (!providers.has(provider) || NO_CHAT_MODEL.test(model)) return []
    const price = agreedPrices(all.flatMap(({ source, prices }) => (prices ? [{ source, prices }] : [])))
    return price ? [{ name: plainName(model), all, price }] : []
  })
  return Map.groupBy(offers, ({ name }) => name)
}

type AgreedOffer = { all: readonly PublicEntry[]; price: PublicPrices }

const NO_MEDIA: DocumentPrices = { prompt: '1', completion: '1' }

const toOffer = ({ all: [first], price }: AgreedOffer, listPrice: DocumentPrices): DocumentOffer => ({
  provider: first!.provider,
  upstream_model: first!.model,
  ...(!isSamePrice(price, { prompt: Number(listPrice.prompt), completion: Number(listPrice.completion) }) && {
    list_price: toDocument(price, NO_MEDIA),
  }),
})

/** Finds offers that the models do not have, and chat models that OpenRouter lists and the document does not have. */
function findNew(
  { models = [], providers = [] }: CatalogDocument,
  entries: readonly PublicEntry[],
  refresh: CatalogRefresh,
) {
  const listed = Map.groupBy(entries, ({ provider, model }) => keyOf(provider, model))
  const byName = offersByName(new Set(providers.map(({ id }) => id)), listed)
  const served = new Set(
    models.flatMap(({ offers }) => offers.map((offer) => keyOf(offer.provider, offer.upstream_model))),
  )
  const isNew = ({ all: [first] }: AgreedOffer) => !served.has(keyOf(first!.provider, first!.model))
  for (const model of models) {
    for (const offer of byName.get(plainName(model.id))?.filter(isNew) ?? []) {
      // The developer's own price is the list price, so its offer is never added beside another one.
      if (MAKERS[offer.all[0]!.provider] !== undefined) continue
      if (offer.price.prompt < IMPLAUSIBLY_CHEAP * Number(model.list_price.prompt)) continue
      refresh.addedOffers.push({ model: model.id, offer: toOffer(offer, model.list_price) })
    }
  }
  const known = new Set(models.map(({ id }) => plainName(id)))
  for (const entry of entries) {
    if (entry.source !== 'openrouter' || known.has(plainName(entry.model)) || NO_CHAT_MODEL.test(entry.model))
      continue
    const offers = byName.get(plainName(entry.model)) ?? []
    if (offers.length === 0 || !offers.every(isNew) || entry.contextLength === undefined) continue
    refresh.added.push(newModel(entry, entry.contextLength, offers))
  }
}

function newModel(entry: PublicEntry, contextLength: number, offers: readonly AgreedOffer[]): DocumentModel {
  const vendor = entry.model.slice(0, entry.model.indexOf('/'))
  const own = offers.find(({ all: [first] }) => MAKERS[first!.provider] === vendor)
  const byPrice = offers.toSorted((a, b) => a.price.prompt - b.price.prompt)
  const { price } = own ?? byPrice[byPrice.length >> 1]!
  const listPrice = toDocument(price, NO_MEDIA)
  const all = [entry, ...(own ?? offers[0]!).all]
  const limit = all.find(({ maxOutputTokens: most }) => most !== undefined && most < contextLength)
  const takes = (of: (one: PublicEntry) => boolean | undefined) =>
    new Set(all.filter(of).map(({ source }) => source)).size >= 2
  const released = offers.flatMap((offer) => offer.all).find(({ releasedAt }) => releasedAt)?.releasedAt
  return {
    id: vendor === 'openai' ? entry.model.slice('openai/'.length) : entry.model,
    name: entry.name ?? entry.model,
    vendor,
    context_length: contextLength,
    ...(limit && { max_output_tokens: limit.maxOutputTokens! }),
    input_modalities: (entry.inputModalities ?? ['text']).filter((one) => MODALITIES.has(one)),
    supported_parameters: PARAMETERS.flatMap(([names, of]) => (takes(of) ? names : [])),
    reasoning: takes(({ reasoning }) => reasoning),
    open_weights: offers.some((offer) => offer.all.some(({ openWeights }) => openWeights)),
    ...(released && { released_at: released }),
    list_price: listPrice,
    offers: [...(own ? [own] : []), ...offers.filter((offer) => offer !== own)].map((offer) =>
      toOffer(offer, listPrice),
    ),
  }
}

const MODALITIES = new Set(['text', 'image', 'audio', 'video', 'file'])

/** A document with the changes of a refresh in its entries, sorted by id, and dated. */
export function withRefresh(
  document: CatalogDocument,
  { changes, added, addedOffers }: Omit<CatalogRefresh, 'differences'>,
  day: string,
): CatalogDocument {
  const ofModels = new Map(changes.models.map(({ id, ...fields }) => [id, fields]))
  const ofOffers = new Map(
    changes.offers.map(({ provider, upstream_model, ...fields }) => [
      keyOf(provider, upstream_model),
      fields,
    ]),
  )
  const newOffers = Map.groupBy(addedOffers, ({ model }) => model)
  const models = (document.models ?? []).map(
    (model): DocumentModel => ({
      ...model,
      ...ofModels.get(model.id),
      offers: [
        ...model.offers.map((offer) => ({
          ...offer,
          ...ofOffers.get(keyOf(offer.provider, offer.upstream_model)),
        })),
        ...(newOffers.get(model.id) ?? []).map(({ offer }) => offer),
      ],
    }),
  )
  const replaced = new Set(added.map(({ id }) => id))
  const all = [...models.filter(({ id }) => !replaced.has(id)), ...added].sort((a, b) =>
    a.id < b.id ? -1 : 1,
  )
  return { ...document, dated: day, models: all }
}

/** Operators' edits with the changes of a refresh beside their own; where both name a field, the refresh decides. */
export function editsWithRefresh(
  edits: CatalogDocument,
  { changes, added }: Pick<CatalogRefresh, 'changes' | 'added'>,
): CatalogDocument {
  const merged = <Change extends object>(
    earlier: readonly Change[] = [],
    later: readonly Change[],
    key: (one: Change) => string,
  ) => {
    const all = new Map(earlier.map((one) => [key(one), one]))
    for (const one of later) all.set(key(one), { ...all.get(key(one)), ...one })
    return [...all.values()]
  }
  const known = new Set(edits.models?.map(({ id }) => id))
  return {
    ...edits,
    ...((edits.models || added.length > 0) && {
      models: [...(edits.models ?? []), ...added.filter(({ id }) => !known.has(id))],
    }),
    changes: {
      ...edits.changes,
      models: merged(edits.changes?.models, changes.models, ({ id }) => id),
      offers: merged(edits.changes?.offers, changes.offers, ({ provider, upstream_model }) =>
        keyOf(provider, upstream_model),
      ),
    },
  }
}
