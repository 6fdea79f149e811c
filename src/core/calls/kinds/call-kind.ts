import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import type { RoutingProfile } from '../../auto/routing-profiles.ts'
import type { Model, ModelKind, Offer, Wire } from '../../catalog/catalog.ts'
import { ApiError } from '../../kernel/errors.ts'
import { createTextBound } from '../../text-tokens/text-bound.ts'
import type { RequestOf } from '../call-request.ts'
import type { ChatMessage, SamplingParameters } from '../chat-request.ts'
import type { MediaPart } from '../content-part.ts'
import type { NativeStop } from '../messages-wire.ts'
import type { PassedFields } from '../passed-fields.ts'
import { Preferences, parsePreferences } from '../provider-preferences.ts'
import type { ProviderTools } from '../provider-tools.ts'
import { modelId, type ReasoningEffort } from '../request-parameters.ts'

/** The core's functions for one kind of call. All are pure. */
export interface CallKind<Content> {
  /** Method and path of its route, for refusals. */
  surface: string
  /** What the call requests: a completion, token by token up to a limit, or one JSON result. */
  asksFor: 'completion' | 'result'
  /** The client must name a limit of completion tokens, so what the balance does not cover lowers it. */
  hasFlexibleLimit?: true
  /** The provider's response is read to its end even if the client disconnects, because the provider bills it. */
  outlivesClient?: true
  /** The stop reason of a completion that reached its limit, if the kind has its own. */
  stopAtLimit?: NativeStop
  /** The kinds of input in the prompt, always with `text`. */
  modalities(content: Content): string[]
  /** The parts of the prompt that are not text. */
  media(content: Content): readonly MediaPart[]
  needs(content: Content): CallNeeds
  /** The texts whose tokens the gateway counts if the provider reports none, each separately. */
  texts(content: Content): string[]
  /** The content without what writes to the provider's prompt cache: for candidates where that has no price. */
  withoutCaching?(content: Content): Content
  /** The content with what keeps it in that cache for minutes only: for candidates where an hour has no price. */
  withShortCaching?(content: Content): Content
  /** The units to charge if the provider reports none, within those of the hold. By default all of them. */
  unreportedUnits?(content: Content, bound: number): number
  /** The part of the content that the call's sealed body stores, as JSON. By default all of it. */
  write?(content: Content): object
  /** Reverses `write`. Throws ApiError if the body is not valid. */
  read?(body: Record<string, unknown>): Content
}

/** What a call requires of the models and offers that may serve it. Planning uses these needs instead of the content. */
export interface CallNeeds {
  modelKind: ModelKind
  /** The kinds of input in the prompt, always with `text`. */
  modalities: readonly string[]
  /** Modalities of media by URL, whose size is unknown until they are fetched. */
  byAddress: ReadonlyArray<'file' | 'video'>
  /** Used parameters that a model may not support, named as in the catalog. */
  parameters: readonly string[]
  /** Fields that some providers do not get, whatever else they support. Absent: none. */
  passed?: PassedFields
  /** The wire that the client speaks: providers that speak it come first. Absent: any. */
  wire?: Wire
  /** Only providers that speak `wire` serve the call. */
  onlyWire?: true
  /** The paths of what providers of other wires than this one leave out. Absent: nothing. */
  onlyAt?: { wire: Wire; names: readonly string[] }
  /** Who signed reasoning in it, which others do not get, and the name of that. Absent: none. */
  signed?: { makers: ReadonlySet<string>; name: string }
  prompt: PromptSize
  /** The tools of the request that a provider of the client's wire runs. Absent: none. */
  providerTools?: ProviderTools | ((offer: Offer, model: Model) => ProviderTools | undefined)
  /** It writes to the prompt cache for an hour, where a provider of the client's wire can. Absent: false. */
  cachesHour?: true
  /** Tokens of the provider's prompt cache are charged at their own rates. */
  pricesCache: boolean
  /** See ChatContent. */
  extended?: true
  /** The schemas that a wire without JSON Schema references must convert. */
  schemas: Pick<SamplingParameters, 'tools' | 'response_format'>
  /** The basis of `auto`'s choice. Absent if `auto` does not serve this kind of call. */
  auto?: AutoPrompt
  /** For a call that requests a result. */
  result?: ResultNeeds
  /** The request's fields that errors name: for the length of the text, and for media that no model accepts. */
  fields: { text: string; media: string }
}

/** The known token counts of a prompt before a model is chosen. */
export interface PromptSize {
  /** An upper bound on the text's tokens, for every model. */
  textTokens: number
  /** A lower bound, for every tokenizer, on the tokens of the text, or of the longest of several texts. */
  textTokensAtLeast: number
  media: readonly MediaPart[]
  /** The number of texts that are read separately, each within the window. */
  inputs: number
}

export interface AutoPrompt {
  profile: RoutingProfile
  /** What `auto` reads the difficulty and the kind of. Planning itself does not read it. */
  messages: readonly ChatMessage[]
  parameters: SamplingParameters
  tools: number
  /** What the call asks for; absent: the default of the model that serves it. */
  effort?: ReasoningEffort
  size: CallSize
  /** The sizes of the calls that began each of the user's turns, oldest first. */
  turnSizes: readonly CallSize[]
}

/** The expected tokens of a prompt's text, and how many of them the conversation's call before it sent too. */
export interface CallSize {
  promptTokens: number
  repeatedTokens: number
}

/** What a call that requests a result requires of a model. */
export interface ResultNeeds {
  /** No part of the result is sent before it is complete. */
  comesWhole?: true
  /** Whether a model can make the requested result. Absent if every model of the kind can. */
  isDoneBy?(model: Model): boolean
  /** The refusal if no model can. */
  refusal?(): ApiError
  /** The maximum units at a model that counts any. */
  unitsBound(model: Pick<Model, 'imageUnits'>): number
  /** For a call for images: the size and quality of each at a model; null if the model does not make such images. */
  image?(model: Pick<Model, 'imageUnits'>): ImageChoice | null
}

export interface ImageChoice {
  /** Empty if the model has no qualities. */
  quality: string
  size: string
  unitsEach: number
}

/** Maximum characters per token in today's vocabularies, even for repetitive text. */
const MAX_CHARS_PER_TOKEN = 16

/** A lower bound on the tokens of this many characters, for every tokenizer. */
export const tokensAtLeast = (characters: number): number => Math.floor(characters / MAX_CHARS_PER_TOKEN)

/** The defaults of the kinds that request a result. */
export const RESULT_KIND = {
  asksFor: 'result',
  modalities: () => ['text'],
  media: () => [],
  texts: () => [],
} as const

/** The body fields of every call for a result. */
export const RESULT_FIELDS = { model: modelId, provider: optional(Preferences) }
export const OBJECT_BODY = { errorMessage: { type: 'The request body must be a JSON object.' } }

export const ONLY_WHOLE = optional(
  Type.Literal(false, { errorMessage: '`{param}` must be false: responses are sent as a whole.' }),
)

/** The request of a call for a result. */
export const resultRequest = <Content>(
  model: string,
  preferences: Static<typeof Preferences> | null | undefined,
  content: Content,
): RequestOf<Content> => ({
  models: [model],
  stream: false,
  completionLimit: 0,
  preferences: parsePreferences(preferences ?? {}),
  content,
})

/** The needs of a call for a result, without those of its kind. */
export const resultNeeds = (
  modelKind: ModelKind,
  { textTokens, textTokensAtLeast, media = [], inputs = 1 }: Partial<PromptSize>,
  result: ResultNeeds,
): CallNeeds => ({
  modelKind,
  modalities: ['text'],
  byAddress: [],
  parameters: [],
  prompt: { textTokens: textTokens ?? 0, textTokensAtLeast: textTokensAtLeast ?? 0, media, inputs },
  pricesCache: false,
  schemas: {},
  result,
  fields: { text: 'input', media: 'image' },
})

/** Tokens that tokenizers add around a text. */
export const TOKENS_AROUND = 8

/** Upper bounds on the tokens of texts that are read separately. */
export function textBounds(texts: readonly string[]): number[] {
  const boundOf = createTextBound()
  return texts.map((text) => boundOf(text) + TOKENS_AROUND)
}

export const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** A lower bound on the tokens of the longest text. */
export const longestAtLeast = (texts: readonly string[]): number =>
  Math.max(0, ...texts.map(({ length }) => tokensAtLeast(length)))

export const unsupported = (param: string, message: string) =>
  new ApiError('unsupported_shape', message, { param })

/** The kinds of input of a prompt as one word: `text`, or `image+text`. */
export const contentKindsOf = (modalities: readonly string[]): string => [...modalities].sort().join('+')
