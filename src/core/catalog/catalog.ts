import type { ModelQuality } from '../auto/quality-figure.ts'
import type { PointPrices } from '../auto/routing-profiles.ts'
import type { CompletionTokens, TaskTokens } from '../auto/task-tokens.ts'
import type { PricedTier, UNUSUAL_FIELDS } from '../calls/passed-fields.ts'
import type { ReasoningEffort } from '../calls/request-parameters.ts'
import type { PicoUsdPerToken } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import type { MediaRules } from '../media/media-rules.ts'
import type { ProviderCredentials } from './provider-credentials.ts'

/** The wires a provider can speak; each has a file of pure mappings in src/providers. */
export const WIRES = [
  'chat-completions',
  'anthropic-messages',
  'google-generate-content',
  'responses',
  'bedrock-converse',
] as const
export type Wire = (typeof WIRES)[number]

/** A company or server that runs models. Contains no secret: the key is looked up in the environment by name. */
export interface Provider {
  id: string
  name: string
  wire: Wire
  /** No trailing slash; the wire's path is appended. */
  baseUrl: string
  /** Name of the environment variable with our key; null if none is needed. */
  apiKeyEnv: string | null
  /** What the key becomes before it is sent; absent: it is sent as it is, in the wire's header. */
  credentials?: ProviderCredentials
  /** Stores no prompts or completions. */
  zdr: boolean
  /** Whether the provider may train on or store data. */
  dataCollection: 'allow' | 'deny'
  /** The field for the completion limit. */
  limitParameter: 'max_tokens' | 'max_completion_tokens'
  /** Differences from its wire; absent: none. */
  quirks?: ProviderQuirks
}

export const AUTH_HEADERS = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'] as const
export const OMITTABLE_FIELDS = [
  'stream_options',
  'temperature',
  'top_p',
  'tools',
  'response_format',
  'tool_choice',
  'parallel_tool_calls',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'reasoning_effort',
  'prompt_cache_key',
] as const

/** What a finish reason of a provider means; `error`: the provider gave up, and the completion is broken. */
export const FINISH_MEANINGS = [
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'function_call',
  'error',
] as const
export type FinishMeaning = (typeof FINISH_MEANINGS)[number]

/**
 * Differences of a provider from its wire, as data. An absent field means the wire's default.
 * docs/providers.md names the providers that need each.
 */
export interface ProviderQuirks {
  /** The header with the key; `authorization` carries it as a bearer token. */
  authHeader?: (typeof AUTH_HEADERS)[number]
  /** Appended to the base URL instead of `/chat/completions`; may contain a query. */
  path?: string
  /** Its URLs for tasks, instead of the wire's paths. */
  taskUrls?: Readonly<Partial<Record<ModelKind, string>>>
  /** The field for the length of vectors; `dimensions` by default. */
  dimensionsField?: 'output_dimension'
  /** Supports vectors as base64; otherwise they are requested as numbers. */
  base64Vectors?: boolean
  /** Returns URLs of images unless base64 is requested. */
  base64Images?: boolean
  /** Sent with every request. Never a secret. */
  headers?: Readonly<Record<string, string>>
  /** Added to every request body. */
  fixedFields?: Readonly<Record<string, unknown>>
  /** Fields that it rejects and that are therefore omitted. */
  omit?: readonly (typeof OMITTABLE_FIELDS)[number][]
  /** Fields that it gets although most providers do not. */
  passes?: readonly (typeof UNUSUAL_FIELDS)[number][]
  /** The values of `reasoning_effort` that it takes; the nearest is sent. */
  efforts?: readonly ReasoningEffort[]
  /** The most searches of the web in a call that states no `max_uses`; 0: it runs no tools. */
  maxToolUses?: number
  /** Takes `cache_control` on parts of messages. */
  cacheMarks?: boolean
  /** Supports only `json_object`; a schema is requested as that. */
  jsonObjectOnly?: boolean
  /** Maximum temperature; higher values are clamped. */
  temperatureMax?: number
  /** Rejects `temperature` and `top_p` together; only the temperature is sent. */
  oneSamplingParameter?: boolean
  /** Rejects `name` on messages of other roles. */
  namedRoles?: readonly string[]
  /** Set to true on a trailing assistant message to request its continuation. */
  prefillField?: 'prefix' | 'partial'
  /** Supports the role `developer`; for other providers its messages become system messages. */
  developerRole?: boolean
  /** Accepts only tool call ids of nine letters and digits. */
  shortToolIds?: boolean
  /** Requires `reasoning_content` on assistant messages with tool calls. */
  reasoningHistory?: boolean
  /** The meaning of its own finish reasons, as it writes them, before the table of all providers. */
  finishReasons?: Readonly<Record<string, FinishMeaning>>
}

export const SAMPLING_PARAMETERS = ['temperature', 'top_p'] as const
export type SamplingParameter = (typeof SAMPLING_PARAMETERS)[number]

export interface Offer {
  /** `<provider>/<upstream model>`, unique in the catalog. Never leaves the gateway. */
  id: string
  provider: Provider
  /** The model's name on the provider's wire. */
  upstreamModel: string
  /** The price that we pay. */
  cost: TokenRates
  /** Whether a document states `cost`; otherwise it is the assumed share of the list price. */
  costStated?: boolean
  /** Part of shared capacity: we have its provider's key, and it is not sold at a loss. */
  shared: boolean
  /** Why it is not shared; absent if it is. */
  withheld?: WithheldReason
  /** Context window sold for this offer; absent: the model's. */
  contextLength?: number
  /** The provider's actual context window, if larger than what is sold; absent: `contextLength`. */
  providerContextLength?: number
  /** Longer prompts cost us more than they earn; absent: no limit. Never above `contextLength`. */
  coveredTokens?: number
  /** Kinds of input whose tokens cost us more than they earn; absent: none. */
  lossMedia?: readonly PricedMedia[]
  /** Its prompt cache costs us more than the cache rates earn, as far as we know. Absent: false. */
  lossCache?: boolean
  /** Uses of the provider's tools that cost us more than they earn; absent: none. */
  lossUses?: readonly UseKind[]
  /** Absent: the model's. */
  maxOutputTokens?: number
  /** The prices of its service tiers, in percent of its other prices. Absent: none differs. */
  tierPercents?: Readonly<Partial<Record<PricedTier, number>>>
  /** Sampling parameters that its model rejects and that are therefore omitted; absent: none. */
  refusedSampling?: readonly SamplingParameter[]
  /** Its model reasons, so that it may get `reasoning_effort`. Absent: false. */
  reasons?: true
  /** Lower values are tried first; equal ones are load-balanced. */
  priority: number
  /** The percentage of conversations that start with it, among those of the same priority. Absent: the others share the rest by price. */
  weight?: number
  /** Calls tools as at the maker of the model; `:exacto` uses only such offers. */
  exactTools: boolean
  /** Continues a trailing assistant message, so a broken stream can be rescued by prefill. */
  assistantPrefill: boolean
  /** It is used although its provider's model list lacks it. */
  ignoresList?: true
}

export const DEFAULT_PRIORITY = 100

export type WithheldReason = 'no_key' | 'loss'

/** An unusable offer, even with a BYOK key. Kept only to be shown to operators. */
export interface WithdrawnOffer {
  offer: Offer
  /** `disabled` by an operator; `unlisted`: its provider no longer lists it. */
  reason: 'disabled' | 'unlisted'
}

/** Kinds of input that some makers price separately. */
export type PricedMedia = 'audio' | 'image'

/** Uses of tools that the provider runs and that have a price of their own. */
export type UseKind = 'webSearch' | 'codeExecution'

export interface TokenRates {
  prompt: PicoUsdPerToken
  completion: PicoUsdPerToken
  /** Price of the prompt's audio; absent: the prompt price. */
  promptAudio?: PicoUsdPerToken
  /** Price of the prompt's images; absent: the prompt price. */
  promptImage?: PicoUsdPerToken
  /** Price of prompt tokens that are read from, or written to, the provider's prompt cache; absent: the prompt price. */
  cacheRead?: PicoUsdPerToken
  cacheWrite?: PicoUsdPerToken
  /** The same for tokens that are kept there for an hour; absent: they are kept for minutes only. */
  cacheWriteHour?: PicoUsdPerToken
  /** Price of one unit besides tokens, see UnitKind; absent: nothing. */
  units?: PicoUsdPerToken
  /** Price of one search of the web, and of one call in which the provider runs programs; absent: it does neither. */
  webSearch?: PicoUsdPerToken
  codeExecution?: PicoUsdPerToken
}

/**
 * Who can read what a target signs of its reasoning: the maker of Claude at each of its hosts; elsewhere a provider, for its
 * models with the same first word.
 */
export const makerOf = ({ provider, upstreamModel }: Pick<Offer, 'provider' | 'upstreamModel'>): string =>
  (provider.wire === 'anthropic-messages' || provider.wire === 'bedrock-converse') &&
  upstreamModel.includes('claude')
    ? 'claude'
    : `${provider.id}/${upstreamModel.split(/[/-]/)[0]}`

/** The kind of a model. Chat completions use chat models only, and the other surfaces models of their kind. */
export const MODEL_KINDS = [
  'chat',
  'embeddings',
  'rerank',
  'moderation',
  'image',
  'speech',
  'transcription',
] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** The field of a catalog document that models of a kind need. */
export const FIELD_OF_KIND: Readonly<Partial<Record<ModelKind, 'dimensions' | 'image_units'>>> = {
  embeddings: 'dimensions',
  image: 'image_units',
}

/** The units of prices that are not per token. */
export const UNIT_KINDS = ['search', 'image', 'image_token', 'character', 'second'] as const
export type UnitKind = (typeof UNIT_KINDS)[number]

export interface Model {
  /** Bare for the maker of the wire (`gpt-…`), otherwise `<vendor>/<id>`. */
  id: string
  name: string
  vendor: string
  kind: ModelKind
  /** The unit of its `units` rate; absent: it has none. */
  unit?: UnitKind
  /** Minimum units charged for a call; absent: no minimum. */
  leastUnits?: number
  /** Length of the vectors, for an embeddings model. */
  dimensions?: number
  /**
   * Units of one image by `<quality>/<size>`, such as `high/1024x1024`; `/1024x1024` for a model without qualities. The
   * first is the default. An image model makes no others, so that every price is known.
   */
  imageUnits?: Readonly<Record<string, number>>
  /** Context window: tokens of prompt and completion together. */
  contextLength: number
  maxOutputTokens: number
  /** Whether a document states a limit below the window; otherwise `maxOutputTokens` is the window. Absent: false. */
  outputLimitStated?: boolean
  inputModalities: readonly string[]
  /** Token counts of images, audio, video and documents. */
  media: MediaRules
  supportedParameters: readonly string[]
  reasoning: boolean
  openWeights: boolean
  /** `YYYY-MM-DD`; absent: unknown. */
  releasedAt?: string
  /** `YYYY-MM-DD`: when its maker stops serving it; absent: unknown. */
  deprecatedAt?: string
  listPrice: TokenRates
  /** The listed (retail) rate that we charge. */
  rate: TokenRates
  /** Changes whenever `rate` does; stored with every charge. */
  rateVersion: string
  /** Unix seconds: when its rate last changed, according to its document. */
  updatedAt: number
  /** `updatedAt` is the date in the document, not the time of a file, which differs by machine. Absent: false. */
  dated?: boolean
  /** Whether `auto` may choose it. */
  auto: boolean
  /** Its published quality by kind of task; absent: none is known. */
  quality?: ModelQuality
  /** What published tasks took it; absent: none is known. */
  outputTokens?: TaskTokens
  /** Expected tokens of its completions at the default effort, as stated or measured; absent: unknown. */
  completionTokens?: CompletionTokens
  offers: readonly Offer[]
  /** Absent: none. */
  withdrawn?: readonly WithdrawnOffer[]
}

/** An immutable view of the catalog; a change replaces the whole snapshot. */
export interface CatalogSnapshot {
  /** Content hash. */
  version: string
  /** Unix seconds. */
  generatedAt: number
  /** By canonical id. */
  models: ReadonlyMap<string, Model>
  offers: ReadonlyMap<string, Offer>
  /** Models by other names, in the order in which they are tried; absent: there are none. */
  aliases?: ReadonlyMap<string, readonly Model[]>
  /**
   * The models that `auto` may choose and that have a shared offer, cheapest first (`compareByPrice`), so
   * that plans need no sorting.
   */
  autoLadder: readonly Model[]
  /** What the operator has `auto` pay for a point of quality, by routing profile; absent: the default. */
  autoPointUsd?: Partial<PointPrices>
}

export const isAvailable = (model: Model): boolean => model.offers.some((offer) => offer.shared)

/** Orders models by list price, three prompt tokens to one completion token, then by id. */
export function compareByPrice(a: Model, b: Model): number {
  const price = (model: Model) => Number(model.listPrice.prompt * 3n + model.listPrice.completion)
  return price(a) - price(b) || (a.id < b.id ? -1 : 1)
}

const BARE_ALIAS = /^openai\/([^/]+)$/

/** Finds a model by alias or id, of any kind unless one is given, accepting `openai/<id>` for a bare id; null if there is none. */
export function findModel(catalog: CatalogSnapshot, id: string, kind?: ModelKind): Model | null {
  const named = catalog.aliases?.get(id)
  if (named) return named.find((model) => kind === undefined || model.kind === kind) ?? null
  const bare = BARE_ALIAS.exec(id)?.[1]
  const model = catalog.models.get(id) ?? (bare !== undefined ? catalog.models.get(bare) : undefined)
  return model && (kind === undefined || model.kind === kind) ? model : null
}

const DATED = /-(\d{8}|latest)$/

/** Models by what their targets of a wire call them, such as `claude-sonnet-4-5`. */
const wireNames = oncePer(
  ({ models }: CatalogSnapshot): ReadonlyMap<string, Model> =>
    new Map(
      [...models.values()].flatMap((model) =>
        model.offers.map((offer) => [`${offer.provider.wire} ${offer.upstreamModel}`, model] as const),
      ),
    ),
)

/** Finds a model by the name, dated or not, that a client of a wire knows it by. */
export function findByWireName(catalog: CatalogSnapshot, name: string, wire: Wire): Model | null {
  const names = wireNames(catalog)
  return names.get(`${wire} ${name}`) ?? names.get(`${wire} ${name.replace(DATED, '')}`) ?? null
}
