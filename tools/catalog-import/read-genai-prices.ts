import { calcPrice, findProvider, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices'
import { isChatModelName, type ListedPrice, type Listing, partPrices } from './listing.ts'
import type { ImportedProvider } from './provider-table.ts'

/** Prices per call besides those per token, which the listed rates could not express. */
const PER_CALL_PRICES = ['requests_kcount']

/** A model's price at a provider at noon of a day and its window, by genai-prices; null where it lists none. */
export function readGenaiPrice(
  provider: ImportedProvider,
  upstreamModel: string,
  day: string,
): { price: ListedPrice; contextLength: number | null } | 'per-call' | 'by-hour' | null {
  const timestamp = new Date(`${day}T12:00:00Z`)
  const found = calcPrice({}, upstreamModel, { providerId: provider.genaiPrices, timestamp })
  if (!found) return null
  if (PER_CALL_PRICES.some((key) => key in found.model_price)) return 'per-call'
  if (JSON.stringify(found.model.prices).includes('"time_of_date"')) return 'by-hour'
  const price = toPrice(found.model_price)
  return price && { price, contextLength: found.model.context_window ?? null }
}

/** What stands behind the router of Hugging Face; a model's name may select one of them. */
const ROUTED = [
  'together',
  'novita',
  'fireworks-ai',
  'nebius',
  'groq',
  'cerebras',
  'hyperbolic',
  'nscale',
  'ovhcloud',
  'publicai',
  'sambanova',
]

/** What the router of Hugging Face serves, by who serves it. */
export const readRoutedModels = (): Array<{ provider: string; model: ModelInfo }> =>
  ROUTED.flatMap((provider) => modelsOf(`huggingface_${provider}`).map((model) => ({ provider, model })))

const modelsOf = (genaiPrices: string): ModelInfo[] => findProvider({ providerId: genaiPrices })?.models ?? []

/** Every name of every provider asked for, with its window. */
export const readGenaiWindows = (
  genaiProviders: readonly string[],
): Array<{ name: string; window: number }> =>
  [...genaiProviders.flatMap(modelsOf), ...readRoutedModels().map(({ model }) => model)].flatMap(
    ({ id, context_window: window }) => (window ? [{ name: id, window }] : []),
  )

/** The provider's models by their exact names; for those whose list here is one of names. */
export function readGenaiPrices(provider: ImportedProvider, day: string): Listing[] {
  if (provider.provider.id === 'huggingface') {
    return readRoutedModels().flatMap(({ provider: by, model }) =>
      listModels({ ...provider, genaiPrices: `huggingface_${by}` }, [model], day).map((listing) => ({
        ...listing,
        provider,
        upstreamModel: `${model.id}:${by}`,
      })),
    )
  }
  return listModels(provider, modelsOf(provider.genaiPrices), day)
}

function listModels(provider: ImportedProvider, models: readonly ModelInfo[], day: string): Listing[] {
  return models.flatMap((model) => {
    const found = readGenaiPrice(provider, model.id, day)
    const isExact = JSON.stringify(model.match).includes(JSON.stringify(model.id))
    if (found === null || typeof found === 'string' || !isExact || model.deprecated) {
      return []
    }
    if (!isChatModelName(model.id)) return []
    const listing: Listing = {
      source: 'genai-prices',
      provider,
      upstreamModel: model.id,
      name: model.name ?? null,
      price: found.price,
      contextLength: model.context_window ?? null,
      maxOutputTokens: null,
      inputModalities: null,
      reasoning: null,
      tools: null,
      responseFormat: null,
      onChatPath: true,
    }
    return [listing]
  })
}

function toPrice(price: ModelPrice): ListedPrice | null {
  const { input_mtok: input, output_mtok: output } = price
  const base = (value: typeof input) => (typeof value === 'object' ? value.base : value)
  const prompt = base(input)
  const completion = base(output)
  if (prompt === undefined || completion === undefined) return null
  const tiers = (value: typeof input) => (typeof value === 'object' ? value.tiers : [])
  const start = Math.min(...[...tiers(input), ...tiers(output)].map((tier) => tier.start))
  const plain = {
    prompt,
    completion,
    ...partPrices({
      promptAudio: base(price.input_audio_mtok),
      promptImage: base(price.input_image_mtok),
      cacheRead: base(price.cache_read_mtok),
      cacheWrite: base(price.cache_write_mtok),
    }),
  }
  if (!Number.isFinite(start)) return { ...plain, long: null }
  const above = (value: typeof input, fallback: number) =>
    tiers(value).find((tier) => tier.start === start)?.price ?? fallback
  return {
    ...plain,
    long: { aboveTokens: start, prompt: above(input, prompt), completion: above(output, completion) },
  }
}
