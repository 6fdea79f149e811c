import type { AutoBounds } from '../auto/auto-bounds.ts'
import type { Tier } from '../auto/auto-tiers.ts'
import type { PicoUsdPerToken } from '../kernel/money.ts'
import type { MediaFigures } from '../media/media-figures.ts'

/** The wires a provider can speak; each has a folder of pure mappings under src/providers. */
export const WIRES = ['chat-completions', 'anthropic-messages', 'google-generate-content'] as const
export type Wire = (typeof WIRES)[number]

/** A company or server that runs models. Holds no secret: the key is looked up in the environment by name. */
export interface Provider {
  id: string
  name: string
  wire: Wire
  /** No trailing slash; the wire's path is appended. */
  baseUrl: string
  /** Name of the environment variable with our key there; null where none is needed. */
  apiKeyEnv: string | null
  /** Keeps no prompt or answer. */
  zdr: boolean
  /** Whether the provider may train on or keep data. */
  dataCollection: 'allow' | 'deny'
  /** The field in which it takes the completion limit. */
  limitParameter: 'max_tokens' | 'max_completion_tokens'
  /** How it differs from its wire; absent where it does not. */
  quirks?: ProviderQuirks
}

export const AUTH_HEADERS = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'] as const
export const OMITTABLE_FIELDS = [
  'stream_options',
  'temperature',
  'top_p',
  'tools',
  'response_format',
] as const

/**
 * How a provider differs from the wire it speaks, as data. A field that is absent means the wire's own way.
 * docs/providers.md names the providers that need each.
 */
export interface ProviderQuirks {
  /** The header with the key; `authorization` carries it as a bearer token. */
  authHeader?: (typeof AUTH_HEADERS)[number]
  /** Appended to the base address instead of `/chat/completions`; may hold a query. */
  path?: string
  /** Sent with every request. Never a secret. */
  headers?: Readonly<Record<string, string>>
  /** Added to every request body. */
  fixedFields?: Readonly<Record<string, unknown>>
  /** Fields that it refuses, and that are left out therefore. */
  omit?: readonly (typeof OMITTABLE_FIELDS)[number][]
  /** Takes `json_object` only; a schema is asked for as that. */
  jsonObjectOnly?: boolean
  /** A higher temperature is sent as this one. */
  temperatureMax?: number
  /** Refuses `temperature` and `top_p` together; the temperature is sent. */
  oneSamplingParameter?: boolean
  /** Refuses `name` on messages of other roles than these. */
  namedRoles?: readonly string[]
  /** Set to true on a trailing assistant message, to have it continued. */
  prefillField?: 'prefix' | 'partial'
}

export const SAMPLING_PARAMETERS = ['temperature', 'top_p'] as const
export type SamplingParameter = (typeof SAMPLING_PARAMETERS)[number]

/** One model at one provider. */
export interface Offer {
  /** `<provider>/<upstream model>`, unique in the catalog. Never leaves the gateway. */
  id: string
  provider: Provider
  /** The model's name on the provider's wire. */
  upstreamModel: string
  /** What we pay. */
  cost: TokenRates
  /** Whether `cost` is stated by a document, and not the operator's usual share of the list price. */
  costStated?: boolean
  /** Calls of every client may use it: we hold its provider's key, and do not sell it at a loss. */
  shared: boolean
  /** Why it is not shared; absent where it is. */
  withheld?: WithheldReason
  /** Tokens of prompt and completion together that it takes; absent: as many as the model. */
  contextLength?: number
  /** Tokens that its provider takes, where those are more than what is sold of them; absent: `contextLength`. */
  providerContextLength?: number
  /** Prompts longer than this cost us more than they bring in; absent: none does. Never above `contextLength`. */
  coveredTokens?: number
  /** Input of which a token costs us more than it brings in; absent: none. */
  lossMedia?: readonly PricedMedia[]
  /** Absent: as many as the model. */
  maxOutputTokens?: number
  /** Sampling parameters that its model refuses, and that are left out therefore; absent: none. */
  refusedSampling?: readonly SamplingParameter[]
  /** Offers of a lower one are asked first; equal ones are balanced. */
  priority: number
  /** Honours tool definitions exactly; `:exacto` uses only such offers. */
  exactTools: boolean
  /** Continues a trailing assistant message, so a broken stream can be rescued by prefill. */
  assistantPrefill: boolean
}

/** Of an offer whose document states none. */
export const DEFAULT_PRIORITY = 100

export type WithheldReason = 'no_key' | 'loss'

/** An offer that nobody may use, also not with a key of his own. It is kept to be shown to operators only. */
export interface WithdrawnOffer {
  offer: Offer
  /** `disabled` by an operator; `unlisted`: its provider does not list it any more. */
  reason: 'disabled' | 'unlisted'
}

/** Input that some makers price apart from the rest of a prompt. */
export type PricedMedia = 'audio' | 'image'

export interface TokenRates {
  prompt: PicoUsdPerToken
  completion: PicoUsdPerToken
  /** Of the prompt's audio; absent: as the rest of the prompt. */
  promptAudio?: PicoUsdPerToken
  /** Of the prompt's images; absent: as the rest of the prompt. */
  promptImage?: PicoUsdPerToken
}

export interface Model {
  /** Bare for the maker whose wire this is (`gpt-…`), else `<vendor>/<id>`. */
  id: string
  name: string
  vendor: string
  /** Tokens of prompt and completion together. */
  contextLength: number
  maxOutputTokens: number
  inputModalities: readonly string[]
  /** How many tokens it makes of images, audio, video and documents. */
  media: MediaFigures
  supportedParameters: readonly string[]
  reasoning: boolean
  openWeights: boolean
  /** The maker's list price. */
  listPrice: TokenRates
  /** What we charge: the listed (retail) rate. */
  rate: TokenRates
  /** Changes whenever `rate` does; kept with every charge. */
  rateVersion: string
  /** Unix seconds: when what its document says of its rate last changed, as far as the document tells. */
  updatedAt: number
  /** `updatedAt` is the day its document is dated, and not the time of a file, which differs by machine. Absent: false. */
  dated?: boolean
  /** Whether `auto` may choose it. */
  auto: boolean
  /** The tier in which `auto` tries it before others; absent: the one of its price. */
  autoTier?: Tier
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
  /** The models `auto` may choose and a shared offer serves, cheapest first (`compareByPrice`), so that planning need not sort. */
  autoLadder: readonly Model[]
  /** From which scores on `auto` uses which tier, where the operator says so. */
  autoBounds?: Partial<AutoBounds>
}

/** Whether some offer of it serves calls of every client. */
export const isAvailable = (model: Model): boolean => model.offers.some((offer) => offer.shared)

/** Orders models by list price, three prompt tokens to one completion token, then by id. */
export function compareByPrice(a: Model, b: Model): number {
  const price = (model: Model) => Number(model.listPrice.prompt * 3n + model.listPrice.completion)
  return price(a) - price(b) || (a.id < b.id ? -1 : 1)
}

const BARE_ALIAS = /^openai\/([^/]+)$/

/** The model an id names, accepting `openai/<id>` for a bare id; null when there is none. */
export function findModel(catalog: CatalogSnapshot, id: string): Model | null {
  const bare = BARE_ALIAS.exec(id)?.[1]
  return catalog.models.get(id) ?? (bare !== undefined ? catalog.models.get(bare) : undefined) ?? null
}
