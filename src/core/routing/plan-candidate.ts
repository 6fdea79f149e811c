import { costOf, mostPromptCost } from '../billing/pricing.ts'
import type { Candidate } from '../calls/call-job.ts'
import type { ChatMessage, ChatRequest } from '../calls/chat-request.ts'
import { isAddress, type MediaPart } from '../calls/content-part.ts'
import { imageChoice, mediaParameters } from '../calls/media-task.ts'
import type { ProviderPreferences } from '../calls/provider-preferences.ts'
import {
  type EmbeddingsTask,
  isMediaTask,
  type Task,
  taskTokensAtLeast,
  taskUnitsBound,
  VECTOR_COMPONENTS_MAX,
} from '../calls/task.ts'
import {
  type CatalogSnapshot,
  isAvailable,
  type Model,
  type Offer,
  type PricedMedia,
  type TokenRates,
} from '../catalog/catalog.ts'
import { mapRates, rateTexts, withoutCache } from '../catalog/token-rates.ts'
import { type PicoUsd, ZERO_USD } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'
import { type MediaTokens, mediaTokens, sumOfTokens } from '../media/media-tokens.ts'
import { PROMPT_TOKENS_LEAST, promptBoundOf } from '../text-tokens/prompt-tokens.ts'
import { type ByokKey, takesByokKeys } from './byok.ts'

/** What a request demands of a model, what it comes to at an offer, and the candidate that this makes. */

/** What a request demands of a model, apart from what it says. */
export interface RequestShape {
  /** Input modalities that occur in the messages, always with `text`. */
  modalities: string[]
  /** Modalities of media that is sent by address and has no size that is known before it is fetched. */
  byAddress: Array<'file' | 'video'>
  /** Parameters in use that a model may or may not support, named as in the catalog. */
  parameters: string[]
  /** No tokenizer makes fewer tokens of the text than this; of a task, of its longest text. */
  promptTokensAtLeast: number
  /** Absent: a chat. */
  task?: Task
}

/** Even repetitive text takes a token every so many characters in today's vocabularies. */
const MAX_CHARS_PER_TOKEN = 16

/** Reads the demands of a request off its messages and parameters. */
export function requestShape(request: ChatRequest): RequestShape {
  const parts = request.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const byAddress = new Set<'file' | 'video'>()
  for (const part of parts) {
    if ((part.type === 'file' || part.type === 'video') && isAddress(part.source)) byAddress.add(part.type)
  }
  return {
    modalities: modalitiesOf(request),
    byAddress: [...byAddress],
    parameters: parametersOf(request),
    promptTokensAtLeast: request.task
      ? taskTokensAtLeast(request.task, MAX_CHARS_PER_TOKEN)
      : Math.floor(charactersIn(request) / MAX_CHARS_PER_TOKEN),
    ...(request.task && { task: request.task }),
  }
}

/** A history with calls of tools demands a model that knows them, whether or not there are tools to call. */
function parametersOf({ parameters, messages }: ChatRequest): string[] {
  const names = Object.keys(parameters)
  return names.includes('tools') || !messages.some((message) => message.tool_calls)
    ? names
    : [...names, 'tools']
}

const charactersIn = ({ messages }: ChatRequest): number =>
  messages.reduce((sum, message) => sum + textLength(message), 0)

function modalitiesOf({ messages, task }: Pick<ChatRequest, 'messages' | 'task'>): string[] {
  const modalities = new Set(['text'])
  if (task?.kind === 'image' && task.sources.length > 0) modalities.add('image')
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) modalities.add(part.type)
  }
  return [...modalities]
}

/** The kinds of content in a prompt as one word: `text`, or `image+text`. */
export const contentKindsOf = (request: Pick<ChatRequest, 'messages' | 'task'>): string =>
  modalitiesOf(request).sort().join('+')

/** Characters of text in a message, its calls of tools among them. */
export function textLength({ content, tool_calls: calls = [] }: ChatMessage): number {
  const ofCalls = calls.reduce(
    (sum, call) => sum + call.function.name.length + call.function.arguments.length,
    0,
  )
  if (typeof content === 'string') return content.length + ofCalls
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), ofCalls)
}

/** What of the input may have a price of its own: a video has sound and pictures, a document may have pictures. */
export function pricedMediaOf({ modalities }: RequestShape): PricedMedia[] {
  const among = (...names: string[]) => names.some((name) => modalities.includes(name))
  return [
    ...(among('audio', 'video') ? (['audio'] as const) : []),
    ...(among('image', 'video', 'file') ? (['image'] as const) : []),
  ]
}

/** Whether a model takes a task as it is asked. */
export function takesTask(model: Model, { task }: RequestShape): boolean {
  if (task?.kind === 'embeddings') return makesVectors(model, task)
  if (!task || !isMediaTask(task)) return true
  const isMade = task.kind !== 'image' || imageChoice(task, model.imageUnits) !== null
  return isMade && mediaParameters(task).every((name) => model.supportedParameters.includes(name))
}

/** Its vectors have the length that is asked for, and one answer holds them. */
function makesVectors({ supportedParameters, dimensions = 0 }: Model, task: EmbeddingsTask): boolean {
  const length = task.dimensions ?? dimensions
  const isLengthTaken =
    task.dimensions === undefined ||
    (length <= dimensions && (length === dimensions || supportedParameters.includes('dimensions')))
  return isLengthTaken && task.input.length * length <= VECTOR_COMPONENTS_MAX
}

/** Whether a model takes every kind of input of a request, and each in the way it is sent. */
export const takesInput = (model: Model, { modalities, byAddress }: RequestShape): boolean =>
  modalities.every((modality) => model.inputModalities.includes(modality)) &&
  byAddress.every((modality) => model.media.byAddress.includes(modality))

/** The bound of a prompt's tokens comes out at about so many times their count: 1.8 for prose, 2.2 for code. */
const BOUND_PER_TOKEN = 2

/** The tokens of a prompt, as far as they are known before a model is. */
export interface PromptSize {
  /** A bound of those of the text. */
  textTokens: number
  /** No tokenizer makes fewer of the text. */
  textTokensAtLeast: number
  media: readonly MediaPart[]
  /** Texts that are read one by one, each within the window. */
  inputs: number
}

/** What an offer makes of a prompt, in tokens. */
export interface PromptTokens {
  /** No more than this, text and media together. */
  bound: number
  /** No fewer than this. */
  atLeast: number
  /** Of the text, a bound; see BOUND_PER_TOKEN. */
  text: number
  /** Tokens of prompt and completion together that the provider takes. */
  window: number
  /** Absent where the prompt has none. */
  media?: MediaTokens
}

/** What an offer makes of a prompt: never more than its provider's window, beyond which a prompt is refused. */
export function promptTokensAt(offer: Offer, model: Model, prompt: PromptSize): PromptTokens {
  const { textTokens, textTokensAtLeast: atLeast, media, inputs } = prompt
  const window = offer.providerContextLength ?? offer.contextLength ?? model.contextLength
  const text = { text: textTokens, atLeast, window }
  if (media.length === 0) return { ...text, bound: Math.min(textTokens, inputs * window) }
  const tokens = mediaTokens(media, model.media, window)
  return { ...text, bound: Math.min(textTokens + sumOfTokens(tokens.bound), window), media: tokens }
}

/**
 * Whether a prompt can be within an offer's window, and is likely to be within the part of it that its rate covers.
 * @param paid what we pay the provider for; null where it bills the client
 */
export function fits(offer: Offer, shape: RequestShape, paid: PromptTokens | null): boolean {
  const { contextLength = Number.POSITIVE_INFINITY, coveredTokens = Number.POSITIVE_INFINITY } = offer
  if (shape.promptTokensAtLeast >= contextLength) return false
  if (paid === null) return true
  if (offer.lossMedia && pricedMediaOf(shape).some((media) => offer.lossMedia?.includes(media))) return false
  return paid.text <= (coveredTokens - sumOfTokens(paid.media?.likely)) * BOUND_PER_TOKEN
}

/** The offers of a model that a client may use. */
export interface ModelCapacity {
  /** At providers the client has keys for: with those keys, oldest first. */
  own: ReadonlyMap<Offer, readonly string[]>
  /** With our keys. */
  shared: readonly Offer[]
  /** One of the client's keys forbids to go on to shared capacity. */
  ownOnly: boolean
}

/** The offers that a call may reach, whoever's key it takes. */
export const usableOffers = ({ own, shared }: ModelCapacity): Offer[] => [...own.keys(), ...shared]

const sharedCapacity = oncePer(
  ({ offers }: Model): ModelCapacity => ({
    own: new Map(),
    shared: offers.filter((offer) => offer.shared),
    ownOnly: false,
  }),
)

/**
 * Splits a model's offers into those on the client's BYOK keys and those on shared capacity. A key that does not
 * allow to fall back closes shared capacity to every model it could serve: its owner counts on paying the
 * provider, and no failure may turn that into a charge of ours; nor may a list from which the provider left the
 * model out, so an offer that is withdrawn closes it as well.
 */
export function capacityFor(model: Model, keys: readonly ByokKey[]): ModelCapacity {
  const withoutKeys = sharedCapacity(model)
  if (keys.length === 0) return withoutKeys
  const own = new Map<Offer, string[]>()
  let ownOnly = false
  const keysFor = ({ provider }: Offer) => {
    const fitting = keys.filter((key) => key.providerId === provider.id && takesByokKeys(provider))
    ownOnly ||= fitting.some((key) => !key.allowFallback)
    return fitting.map((key) => key.id)
  }
  for (const offer of model.offers) {
    const ids = keysFor(offer)
    if (ids.length > 0) own.set(offer, ids)
  }
  for (const { offer } of model.withdrawn ?? []) keysFor(offer)
  return { own, shared: ownOnly ? [] : withoutKeys.shared, ownOnly }
}

/** An offer, and the client's BYOK key that it is to be used with; null: with ours. */
export interface Target {
  offer: Offer
  providerKeyId: string | null
}

/** Whether a call is charged tokens of a provider's prompt cache at their own rates. */
export const pricesCache = ({ extended, native }: Pick<ChatRequest, 'extended' | 'native'>): boolean =>
  extended === true || native !== undefined

/** The candidate with the completion limit it gets, or null when not one token fits under the price cap. */
export function toCandidate(
  { asked, model }: { asked: string; model: Model },
  { offer, providerKeyId }: Target,
  request: ChatRequest,
  promptTokens: PromptTokens,
  { defaultCompletionLimit, byokFeePercent }: { defaultCompletionLimit: number; byokFeePercent: number },
): Candidate | null {
  const isOwn = providerKeyId !== null
  // On the client's BYOK key the provider's cache costs us nothing.
  const listed = pricesCache(request) && (isOwn || !offer.lossCache) ? model.rate : withoutCache(model.rate)
  const { task } = request
  const units = task && unitsOf(model, task)
  const image = task?.kind === 'image' && imageChoice(task, model.imageUnits)
  const wanted = request.completionLimit ?? defaultCompletionLimit
  const most = Math.min(wanted, model.maxOutputTokens, offer.maxOutputTokens ?? model.maxOutputTokens)
  const limit = limitUnderCap(
    limitBeside(promptTokens, most),
    listed,
    mostPromptCost(
      promptBoundOf({ promptTokensBound: promptTokens.bound, media: promptTokens.media, ...units }),
      listed,
    ),
    request.preferences,
  )
  if (limit === null || (limit < 1 && !task)) return null
  const rate = isOwn ? feeRate(listed, byokFeePercent) : listed
  return {
    offerId: offer.id,
    modelId: model.id,
    requestedModel: asked,
    rate: rateTexts(rate),
    rateVersion: isOwn ? feeRateVersion(model, byokFeePercent) : model.rateVersion,
    contextLength: Math.min(model.contextLength, offer.contextLength ?? model.contextLength),
    promptTokensBound: promptTokens.bound,
    ...(promptTokens.media && { media: promptTokens.media }),
    ...units,
    ...(image && { image }),
    completionLimit: limit,
    // What makes or reads files says nothing until it is done.
    reasoning: model.reasoning || (task !== undefined && isMediaTask(task)),
    ...privacyOf(request.preferences),
    ...(isOwn && { providerKeyId }),
  }
}

/** The units of a task at a model that counts any. */
function unitsOf({ unit, leastUnits: least, imageUnits }: Model, task: Task): Pick<Candidate, 'units'> {
  if (unit === undefined) return {}
  const bound = Math.max(taskUnitsBound(task, imageUnits), least ?? 0)
  return { units: { kind: unit, bound, ...(least !== undefined && { least }) } }
}

/**
 * The completion limit that leaves the prompt its place in the window, or most of it: providers refuse a call whose
 * prompt and limit exceed it together. Where the prompt's bound leaves less than half of what is wanted the prompt is
 * likely to leave more, and the limit that is sent is found when it is counted (src/calls/attempts/attempt.ts).
 */
function limitBeside({ bound, atLeast, window }: PromptTokens, wanted: number): number {
  const sure = window - bound
  if (sure >= wanted) return wanted
  return sure * 2 >= wanted ? sure : Math.min(wanted, window - atLeast)
}

function privacyOf({ zdr, dataCollection }: ProviderPreferences): Pick<Candidate, 'privacy'> {
  const denyDataCollection = dataCollection === 'deny'
  return zdr || denyDataCollection ? { privacy: { zdr, denyDataCollection } } : {}
}

function limitUnderCap(
  limit: number,
  rate: TokenRates,
  promptCost: PicoUsd,
  preferences: ProviderPreferences,
): number | null {
  const cap = preferences.maxPrice.request
  if (cap === undefined) return limit
  const left = cap - promptCost
  if (left < 0n) return null
  if (rate.completion === 0n) return limit
  const affordable = left / rate.completion
  return affordable < BigInt(limit) ? Number(affordable) : limit
}

/**
 * What we charge for a call on the client's BYOK key: a percentage of the listed rate, cut down (never up) to
 * whole pico-USD per token, so that every fee is exact. The provider bills its client for the tokens themselves.
 */
export function feeRate(rate: TokenRates, feePercent: number): TokenRates {
  return mapRates(rate, (listed) => (listed * BigInt(feePercent)) / 100n)
}

/** The version of a fee rate: it changes with the listed rate and with the percentage. */
export const feeRateVersion = (model: Pick<Model, 'rateVersion'>, feePercent: number): string =>
  `${model.rateVersion}-byok-${feePercent}`

/**
 * What the cheapest call of a catalog holds: the shortest prompt and one token of answer at the lowest rate
 * above zero. A balance below it pays for nothing. Zero where nothing has a price. Computed once a snapshot.
 */
export const leastCallCost = oncePer(({ models }: CatalogSnapshot): PicoUsd => {
  let least: PicoUsd | null = null
  for (const model of models.values()) {
    if (model.kind !== 'chat' || !isAvailable(model)) continue
    const cost = costOf({ promptTokens: PROMPT_TOKENS_LEAST, completionTokens: 1 }, model.rate)
    if (cost > 0n && (least === null || cost < least)) least = cost
  }
  return least ?? ZERO_USD
})
