import type { DocumentModel, DocumentPrices } from '../../core/catalog-document.ts'
import { plainDecimal } from '../../core/money.ts'
import { catalogId } from './canonical-id.ts'
import type { ImportedOffer } from './read-sources.ts'

const RATE_DECIMALS = 6
/** Families whose weights are open by name, beside those that a router of open weights lists. */
const OPEN_FAMILIES = /^(openai\/gpt-oss|google\/gemma|meta-llama\/)/

/** Puts the offers of each model together into the models of a catalog document, sorted by id. */
export function mergeOffers(
  offers: readonly ImportedOffer[],
  openWeights: ReadonlySet<string>,
): DocumentModel[] {
  const byModel = Map.groupBy(offers, (offer) => offer.canonicalId)
  return [...byModel]
    .map(([id, all]) => toModel(id, all, openWeights.has(id) || OPEN_FAMILIES.test(id)))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

function toModel(canonicalId: string, all: ImportedOffer[], openWeights: boolean): DocumentModel {
  // Above a tier's start the price is another, so the window ends where the listed price does.
  const tierStart = Math.min(...all.map((offer) => offer.tierStart))
  const windowOf = (offer: ImportedOffer) => Math.min(offer.contextLength, tierStart)
  const widest = Math.max(...all.map(windowOf))
  // One offer with a small window must not shrink the model for everyone.
  const offers = all.filter((offer) => windowOf(offer) * 2 >= widest)
  const own = offers.find((offer) => offer.source.maker !== null)
  // Without the maker's own offer, the dearest host stands for the list price.
  const listed = own ?? offers.toSorted((a, b) => b.completionPrice - a.completionPrice)[0]!
  const contextLength = Math.min(...offers.map(windowOf))
  const maxOutput = Math.min(...offers.map((offer) => offer.maxOutputTokens), contextLength)
  const reasoning = offers.some((offer) => offer.reasoning)
  const vendor = canonicalId.slice(0, canonicalId.indexOf('/'))
  return {
    id: catalogId(canonicalId),
    name: plainName((own ?? offers[0]!).name),
    vendor,
    context_length: contextLength,
    max_output_tokens: maxOutput,
    input_modalities: ['text', 'image'].filter((modality) =>
      offers.every((offer) => offer.inputModalities.includes(modality)),
    ),
    supported_parameters: supportedParameters(vendor, reasoning && !openWeights),
    reasoning,
    open_weights: openWeights,
    list_price: prices(listed),
    offers: offers.map((offer) => ({
      provider: offer.source.provider.id,
      upstream_model: offer.upstreamModel,
      cost: prices(offer),
      // A maker's own service is the reference for how its tool calls look.
      exact_tools: offer.source.maker !== null,
    })),
  }
}

/** Without the vendor before it and the remark after it. */
const plainName = (name: string): string => name.replace(/^[^:]{1,40}: /, '').replace(/ \(latest\)$/, '')

function supportedParameters(vendor: string, closedReasoning: boolean): string[] {
  const parameters = ['tools']
  // Anthropic's chat-completions surface ignores `response_format`.
  if (vendor !== 'anthropic') parameters.push('response_format')
  // Reasoning models of these makers take no sampling parameters.
  if (!(closedReasoning && (vendor === 'openai' || vendor === 'anthropic'))) {
    parameters.push('temperature', 'top_p')
  }
  return parameters
}

function prices(offer: ImportedOffer): DocumentPrices {
  return { prompt: decimal(offer.promptPrice), completion: decimal(offer.completionPrice) }
}

/** The decimal text of a price. Throws RangeError where six decimals cannot hold it exactly. */
function decimal(price: number): string {
  const text = plainDecimal(price, RATE_DECIMALS)
  if (text === null || Number(text) !== price) throw new RangeError(`${price} has more than six decimals`)
  return text
}
