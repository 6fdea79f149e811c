import { type Static, Type } from 'typebox'
import type { SurfaceReference } from '../../api/reference/surface-reference.ts'
import { nullable } from '../../api/request-fields.ts'
import type { SurfaceId } from '../../api/surfaces/surface-registry.ts'
import type { RoutingProfile } from '../../auto/tiers.ts'
import type { Model, ModelKind, Wire } from '../../catalog/catalog.ts'
import { ApiError } from '../../kernel/errors.ts'
import { createTextBound } from '../../text-tokens/text-bound.ts'
import type { RequestOf } from '../call-request.ts'
import { modelId, type SamplingParameters } from '../chat-request.ts'
import type { MediaPart } from '../content-part.ts'
import type { NativeStop } from '../native-message.ts'
import { Preferences, parsePreferences } from '../provider-preferences.ts'

/** What the core knows of one kind of call. All functions are pure. */
export interface CallKind<Content> {
  /** Method and path of the surface that refusals name for it. */
  surface: string
  /** What the documentation shows of its surfaces. Absent: they are dialects of chats, described on their own. */
  reference?: Readonly<Partial<Record<SurfaceId, SurfaceReference>>>
  /** What is asked for: a completion, token by token up to a limit; or one result, as JSON. */
  asksFor: 'completion' | 'result'
  /** A provider that has the request is read to its end although its client left: it bills what it was asked for. */
  outlivesClient?: true
  /** How a completion says that it ended at its limit, where the kind has words of its own for that. */
  stopAtLimit?: NativeStop
  /** The kinds of input in the prompt, always with `text`. */
  modalities(content: Content): string[]
  /** The parts of the prompt that are not text. */
  media(content: Content): readonly MediaPart[]
  needs(content: Content): CallNeeds
  /** What the gateway counts the tokens of where no provider reports them. */
  texts(content: Content): PromptTexts
  /** The content without what writes to the provider's prompt cache: for candidates where that has no price. */
  withoutCaching?(content: Content): Content
  /** The units to charge where the provider reports none, of those that were held for. Absent: all of them. */
  unreportedUnits?(content: Content, bound: number): number
  /** What the sealed body of the call has of the content, as JSON. Absent: all of it. */
  write?(content: Content): object
  /** Reverses `write`. Throws ApiError where the body is not valid. */
  read?(body: Record<string, unknown>): Content
}

/** Texts that a model reads, each counted by itself, and the number of messages that they make. */
export interface PromptTexts {
  texts: string[]
  messages: number
}

/** What a call demands of the models and offers that may serve it. Planning goes by this, and never by the content. */
export interface CallNeeds {
  modelKind: ModelKind
  /** The kinds of input in the prompt, always with `text`. */
  modalities: readonly string[]
  /** Modalities of media by URL, whose size is unknown before they are fetched. */
  byAddress: ReadonlyArray<'file' | 'video'>
  /** Used parameters that a model may not support, named as in the catalog. */
  parameters: readonly string[]
  /** The wire that the provider has to speak. Absent: any. */
  wire?: Wire
  prompt: PromptSize
  /** Tokens of the provider's prompt cache are charged at their own rates. */
  pricesCache: boolean
  /** See ChatContent. */
  extended?: true
  /** What a wire without references in JSON Schema has to convert. */
  schemas: Pick<SamplingParameters, 'tools' | 'response_format'>
  /** What `auto` chooses by. Absent: `auto` serves no calls of this kind. */
  auto?: AutoPrompt
  /** Of a call that asks for a result. */
  result?: ResultNeeds
  /** The field of the request that is at fault: for the length of the text, and for media that no model takes. */
  fields: { text: string; media: string }
}

/** The tokens of a prompt, as far as they are known before the model. */
export interface PromptSize {
  /** An upper bound of those of the text, at every model. */
  textTokens: number
  /** No tokenizer makes fewer of the text, or of the longest of several texts. */
  textTokensAtLeast: number
  media: readonly MediaPart[]
  /** Texts that are read one by one, each within the window. */
  inputs: number
}

export interface AutoPrompt {
  profile: RoutingProfile
  /** The difficulty after each of the last turns of the user, oldest first. Takes a few milliseconds. */
  scores: () => number[]
  tools: number
  /** Results of tools in the messages. */
  toolResults: number
}

/** What a call that asks for a result demands of a model. */
export interface ResultNeeds {
  /** Nothing of the result comes before it is done. */
  comesWhole?: true
  /** Whether a model does it as it is asked. Absent: every model of the kind does. */
  isDoneBy?(model: Model): boolean
  /** The refusal where none does. */
  refusal?(): ApiError
  /** The units that it takes at most at a model that counts any. */
  unitsBound(model: Pick<Model, 'imageUnits'>): number
  /** Of a call for images: what a model makes of each; null where it makes no such image. */
  image?(model: Pick<Model, 'imageUnits'>): ImageChoice | null
}

export interface ImageChoice {
  /** Empty: the model has no qualities. */
  quality: string
  size: string
  unitsEach: number
}

/** Maximum characters per token in today's vocabularies, even for repetitive text. */
const MAX_CHARS_PER_TOKEN = 16

/** No tokenizer makes fewer tokens of so many characters. */
export const tokensAtLeast = (characters: number): number => Math.floor(characters / MAX_CHARS_PER_TOKEN)

/** What the kinds that ask for a result have in common, unless they say otherwise. */
export const RESULT_KIND = {
  asksFor: 'result',
  modalities: () => ['text'],
  media: () => [],
} as const

/** The fields that the body of every call for a result has. */
export const RESULT_FIELDS = { model: modelId, provider: Type.Optional(nullable(Preferences)) }
export const OBJECT_BODY = { errorMessage: { type: 'The request body must be a JSON object.' } }

export const ONLY_WHOLE = Type.Optional(
  nullable(Type.Literal(false, { errorMessage: '`{param}` must be false: responses are sent as a whole.' })),
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

/** The needs of a call for a result, apart from what is particular to its kind. */
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

/** Upper bounds of the tokens of texts that are read one by one. */
export function textBounds(texts: readonly string[]): number[] {
  const boundOf = createTextBound()
  return texts.map((text) => boundOf(text) + TOKENS_AROUND)
}

export const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** The longest of texts in tokens, at least. */
export const longestAtLeast = (texts: readonly string[]): number =>
  Math.max(0, ...texts.map(({ length }) => tokensAtLeast(length)))

export const unsupported = (param: string, message: string) =>
  new ApiError('unsupported_shape', message, { param })

/** The kinds of input of a prompt as one word: `text`, or `image+text`. */
export const contentKindsOf = (modalities: readonly string[]): string => [...modalities].sort().join('+')
