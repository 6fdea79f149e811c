import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isChatModelName, type ListedPrice, type Listing, partPrices } from './listing.ts'
import type { ImportedProvider } from './provider-table.ts'

type LitellmModel = Record<string, unknown> & { litellm_provider: string; mode?: string }

/** The names litellm has for our providers, where they differ. */
export const LITELLM_NAMES: Record<string, string> = {
  google: 'gemini',
  moonshotai: 'moonshot',
  together: 'together_ai',
  fireworks: 'fireworks_ai',
  cohere: 'cohere_chat',
  alibaba: 'dashscope',
  vercel: 'vercel_ai_gateway',
  friendli: 'friendliai',
  xiaomi: 'xiaomi_mimo',
  featherless: 'featherless_ai',
}

/** Much that it lists of these has to be rented by the hour, or is gone. */
const PRICES_ONLY = new Set(['fireworks', 'perplexity'])

export type Litellm = ReturnType<typeof openLitellm>

/** litellm's table of prices and windows, as of a day: models that are switched off by then are left out. */
export function openLitellm(folder: string, day: string) {
  const path = join(folder, 'model_prices_and_context_window_backup.json')
  const table = JSON.parse(readFileSync(path, 'utf8')) as Record<string, LitellmModel>
  const byProvider = Map.groupBy(
    Object.entries(table).filter(([, model]) => model.mode === 'chat' || model.mode === 'responses'),
    ([, model]) => model.litellm_provider,
  )
  const windows = [...byProvider].flatMap(([name, models]) =>
    models.flatMap(([key, { max_input_tokens: window }]) =>
      typeof window === 'number'
        ? [{ name: key.startsWith(`${name}/`) ? key.slice(name.length + 1) : key, window }]
        : [],
    ),
  )
  return {
    /** Every name in the table, and those of chat models with their windows. */
    names: Object.keys(table),
    windows,
    read(provider: ImportedProvider): Listing[] {
      const { id } = provider.provider
      const name = LITELLM_NAMES[id] ?? id
      return (byProvider.get(name) ?? [])
        .filter(([, model]) => !(typeof model.deprecation_date === 'string' && model.deprecation_date <= day))
        .map(([key, model]) => toListing(provider, key.replace(`${name.replace('_chat', '')}/`, ''), model))
        .filter((listing) => isChatModelName(listing.upstreamModel))
    },
  }
}

/** Whether litellm's list of a provider holds the models it serves, or only the prices of some. */
export const listsModels = (provider: ImportedProvider): boolean => !PRICES_ONLY.has(provider.provider.id)

function toListing(provider: ImportedProvider, upstreamModel: string, model: LitellmModel): Listing {
  const integer = (value: unknown) => (Number.isInteger(value) && Number(value) > 0 ? Number(value) : null)
  const flag = (name: string) => (typeof model[name] === 'boolean' ? (model[name] as boolean) : null)
  const input = integer(model.max_input_tokens)
  const endpoints = model.supported_endpoints
  const modalities = [
    ['image', 'supports_vision'],
    ['file', 'supports_pdf_input'],
    ['audio', 'supports_audio_input'],
    ['video', 'supports_video_input'],
  ] as const
  return {
    source: 'litellm',
    provider,
    upstreamModel,
    name: null,
    price: priceOf(model),
    contextLength: input,
    maxOutputTokens: integer(model.max_output_tokens),
    inputModalities: ['text', ...modalities.flatMap(([name, key]) => (flag(key) ? [name] : []))],
    reasoning: flag('supports_reasoning'),
    tools: flag('supports_function_calling'),
    responseFormat: flag('supports_response_schema'),
    onChatPath:
      model.mode === 'chat' && (!Array.isArray(endpoints) || endpoints.includes('/v1/chat/completions')),
    ...(typeof model.deprecation_date === 'string' && { deprecatedAt: model.deprecation_date }),
  }
}

const LONG_PRICE = /^input_cost_per_token_above_(\d+)k_tokens$/

function priceOf(model: LitellmModel): ListedPrice {
  const tiers = tieredPrice(model.tiered_pricing)
  if (tiers) return tiers
  const thresholds = Object.keys(model).flatMap((key) => LONG_PRICE.exec(key)?.[1] ?? [])
  const [first] = thresholds.map(Number).sort((a, b) => a - b)
  const prompt = perMillion(model.input_cost_per_token)
  const completion = perMillion(model.output_cost_per_token)
  const plain = {
    prompt,
    completion,
    ...partPrices({
      promptAudio: perMillion(model.input_cost_per_audio_token),
      promptImage: perMillion(model.input_cost_per_image_token),
      cacheRead: perMillion(model.cache_read_input_token_cost ?? model.input_cost_per_token_cache_hit),
      cacheWrite: perMillion(model.cache_creation_input_token_cost),
    }),
  }
  if (first === undefined) return { ...plain, long: null }
  const longCompletion = perMillion(model[`output_cost_per_token_above_${first}k_tokens`])
  return {
    ...plain,
    long: {
      aboveTokens: first * 1_000,
      prompt: perMillion(model[`input_cost_per_token_above_${first}k_tokens`]),
      completion: Number.isNaN(longCompletion) ? completion : longCompletion,
    },
  }
}

interface Tier {
  input_cost_per_token: number
  output_cost_per_token: number
  /** Tokens of the prompt, from and to. */
  range: [number, number]
}

function tieredPrice(tiers: unknown): ListedPrice | null {
  if (!Array.isArray(tiers)) return null
  const [first, second] = (tiers as Tier[]).toSorted((a, b) => a.range[0] - b.range[0])
  if (first?.range[0] !== 0) return null
  const prices = (tier: Tier) => ({
    prompt: perMillion(tier.input_cost_per_token),
    completion: perMillion(tier.output_cost_per_token),
  })
  return {
    ...prices(first),
    long: second ? { aboveTokens: second.range[0], ...prices(second) } : null,
  }
}

/** NaN for what is no price. */
const perMillion = (perToken: unknown): number =>
  typeof perToken === 'number' ? Number((perToken * 1_000_000).toPrecision(9)) : Number.NaN
