import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { calcPrice, type ModelPrice } from '@pydantic/genai-prices'
import { canonicalId } from './canonical-id.ts'
import { IMPORTED_PROVIDERS, type ImportedProvider } from './provider-table.ts'

/** One model at one provider, as both sources agree on it. */
export interface ImportedOffer {
  source: ImportedProvider
  canonicalId: string
  upstreamModel: string
  name: string
  contextLength: number
  /** Prompts longer than this cost more at this provider or at the maker's; infinite where none do. */
  tierStart: number
  maxOutputTokens: number
  inputModalities: string[]
  reasoning: boolean
  /** USD per million tokens. */
  promptPrice: number
  completionPrice: number
}

interface PiAiModel {
  id: string
  name: string
  type: string
  reasoning: boolean
  input: string[]
  cost: { input: number; output: number; tiers?: Array<{ inputTokensAbove: number }> }
  contextWindow: number
  maxTokens: number
}

/** Not chat models, or not to be had on the chat-completions path. */
const LEFT_OUT =
  /embed|tts|whisper|audio|realtime|transcri|image|moderation|guard|ocr|search|deep-research|computer-use|robotics|codex|(^|\/)~|-latest$|:/
const RESPONSES_ONLY = /^(o1|o3|gpt-[0-9.]+)-pro/
/** Prices per call besides those per token, which the listed rates could not express. */
const PER_CALL_PRICES = ['requests_kcount']

/**
 * Reads what a provider offers. pi-ai knows which models are live, with windows and modalities, and lists
 * only models that take tools; genai-prices knows prices. A model is taken only where both give the same
 * price, so a stale figure in one of them cannot become a rate.
 * @param day at whose noon the prices must hold
 */
export function readOffers(piAiFolder: string, day: string): ImportedOffer[] {
  const at = new Date(`${day}T12:00:00Z`)
  return IMPORTED_PROVIDERS.flatMap((source) =>
    readPiAiModels(piAiFolder, source.piAi).flatMap((model) => toOffer(source, model, at) ?? []),
  )
}

/** Canonical ids of models that the Hugging Face router serves, which serves open weights only. */
export function readOpenWeights(piAiFolder: string): Set<string> {
  const router = { provider: { id: 'huggingface', base_url: '' }, piAi: '', genaiPrices: '', maker: null }
  const ids = readPiAiModels(piAiFolder, 'huggingface').map(({ id }) => canonicalId(router, id))
  return new Set(ids.filter((id) => id !== null))
}

function readPiAiModels(folder: string, name: string): PiAiModel[] {
  const path = join(folder, 'dist', 'providers', 'data', `${name}.json`)
  const groups = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, PiAiModel>>
  return Object.values(groups)
    .flatMap((group) => Object.values(group))
    .filter((model) => model.type === 'chat')
}

function toOffer(source: ImportedProvider, model: PiAiModel, at: Date): ImportedOffer | null {
  const id = canonicalId(source, model.id)
  if (id === null || LEFT_OUT.test(id) || (source.maker === 'openai' && RESPONSES_ONLY.test(model.id))) {
    return null
  }
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model.id, {
    providerId: source.genaiPrices,
    timestamp: at,
  })
  if (
    !found ||
    PER_CALL_PRICES.some((key) => key in found.model_price) ||
    changesByHour(found.model.prices)
  ) {
    return null
  }
  const prompt = basePrice(found.model_price, 'input_mtok')
  const completion = basePrice(found.model_price, 'output_mtok')
  if (prompt !== model.cost.input || completion !== model.cost.output || prompt + completion <= 0) return null
  return {
    source,
    canonicalId: id,
    upstreamModel: model.id,
    name: model.name,
    contextLength: model.contextWindow,
    tierStart: Math.min(
      tierStart(found.model_price),
      makersTierStart(id, at),
      ...(model.cost.tiers ?? []).map((tier) => tier.inputTokensAbove),
    ),
    maxOutputTokens: model.maxTokens,
    inputModalities: model.input.filter((modality) => modality === 'text' || modality === 'image'),
    reasoning: model.reasoning,
    promptPrice: prompt,
    completionPrice: completion,
  }
}

function basePrice(price: ModelPrice, key: string): number | undefined {
  const value = price[key]
  return typeof value === 'object' ? value.base : value
}

function tierStart(price: ModelPrice): number {
  const starts = Object.values(price).flatMap((value) =>
    typeof value === 'object' ? value.tiers.map((tier) => tier.start) : [],
  )
  return Math.min(...starts, Number.POSITIVE_INFINITY)
}

/** Hosts charge by their maker's tiers even where a source forgets to say so. */
function makersTierStart(canonical: string, at: Date): number {
  const [vendor, name = ''] = canonical.split('/')
  const maker = IMPORTED_PROVIDERS.find((source) => source.maker === vendor)
  const found = maker && calcPrice({}, name, { providerId: maker.genaiPrices, timestamp: at })
  return found ? tierStart(found.model_price) : Number.POSITIVE_INFINITY
}

const changesByHour = (prices: unknown): boolean => JSON.stringify(prices).includes('"time_of_date"')
