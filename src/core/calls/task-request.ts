import { type Static, Type } from 'typebox'
import {
  EmbeddingsInputField,
  ModerationsInputField,
  RerankDocumentField,
} from '../api/reference/prompt-fields.ts'
import { nullable } from '../api/request-fields.ts'
import { ApiError } from '../kernel/errors.ts'
import { type ChatRequest, modelId } from './chat-request.ts'
import { Preferences, parsePreferences } from './provider-preferences.ts'
import {
  type EmbeddingsTask,
  type ModerationPart,
  type ModerationTask,
  type Task,
  VECTOR_ENCODINGS,
} from './task.ts'

/** The bodies of requests that are no chats, and what calls they make. Other top-level fields are accepted and dropped. */

const INPUTS_MAX = 2_048
const DOCUMENTS_MAX = 1_000
/** An answer of more would hold others up. */
const RETURNED_CHARS_MAX = 1_048_576
const TOKEN_IDS_MAX = 32_768
const DIMENSIONS_MAX = 65_536
const MODERATION_MODEL = 'omni-moderation-latest'

const isObjectBody = { errorMessage: { type: 'The request body must be a JSON object.' } }
/** What every task names. */
export const TASK_FIELDS = { model: modelId, provider: Type.Optional(nullable(Preferences)) }

export const EmbeddingsBody = Type.Object(
  {
    ...TASK_FIELDS,
    input: Type.Unknown({
      description: 'A text, texts, token ids, or lists of token ids',
      documented: EmbeddingsInputField,
    }),
    dimensions: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: DIMENSIONS_MAX }))),
    encoding_format: Type.Optional(nullable(Type.Enum([...VECTOR_ENCODINGS]))),
  },
  isObjectBody,
)
export type EmbeddingsBody = Static<typeof EmbeddingsBody>

export const RerankBody = Type.Object(
  {
    ...TASK_FIELDS,
    query: Type.String({ minLength: 1 }),
    documents: Type.Array(Type.Unknown({ documented: RerankDocumentField }), {
      minItems: 1,
      maxItems: DOCUMENTS_MAX,
      errorMessage: `\`documents\` must be an array of 1 to ${DOCUMENTS_MAX} texts.`,
    }),
    top_n: Type.Optional(nullable(Type.Integer({ minimum: 1 }))),
    return_documents: Type.Optional(nullable(Type.Boolean())),
  },
  isObjectBody,
)
export type RerankBody = Static<typeof RerankBody>

export const ModerationsBody = Type.Object(
  {
    model: Type.Optional(nullable(modelId)),
    provider: TASK_FIELDS.provider,
    input: Type.Unknown({
      description: 'A text, texts, or the parts of one content',
      documented: ModerationsInputField,
    }),
  },
  isObjectBody,
)
export type ModerationsBody = Static<typeof ModerationsBody>

/** Throws ApiError `invalid_request`. */
export function normalizeEmbeddings(body: EmbeddingsBody): ChatRequest {
  return taskRequest(body.model, body.provider, {
    kind: 'embeddings',
    input: parseEmbeddingsInput(body.input),
    ...(body.dimensions != null && { dimensions: body.dimensions }),
    encoding: body.encoding_format ?? 'float',
  })
}

/** Throws ApiError `invalid_request`. */
export function normalizeRerank(body: RerankBody): ChatRequest {
  const documents = body.documents.map(parseDocument)
  const characters = documents.reduce((sum, { length }) => sum + length, 0)
  if (body.return_documents && characters > RETURNED_CHARS_MAX)
    throw invalid('return_documents', `Documents of ${RETURNED_CHARS_MAX} characters at most are returned.`)
  return taskRequest(body.model, body.provider, {
    kind: 'rerank',
    query: body.query,
    documents,
    ...(body.top_n != null && { topN: body.top_n }),
    returnDocuments: body.return_documents ?? false,
  })
}

/** Throws ApiError `invalid_request`. */
export function normalizeModerations(body: ModerationsBody): ChatRequest {
  const task: ModerationTask = { kind: 'moderation', input: parseModerationInput(body.input) }
  return taskRequest(body.model ?? MODERATION_MODEL, body.provider, task)
}

/** The call that a task makes. */
export function taskRequest(
  model: string,
  preferences: Static<typeof Preferences> | null | undefined,
  task: Task,
): ChatRequest {
  return {
    models: [model],
    messages: [],
    stream: false,
    completionLimit: 0,
    routingProfile: undefined,
    preferences: parsePreferences(preferences ?? {}),
    parameters: {},
    task,
  }
}

function parseEmbeddingsInput(input: unknown): EmbeddingsTask['input'] {
  const inputs = typeof input === 'string' || isTokenIds(input) ? [input] : input
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > INPUTS_MAX)
    throw invalid(
      'input',
      `\`input\` must be a text, or an array of 1 to ${INPUTS_MAX} texts or lists of token ids.`,
    )
  if (inputs.every((entry) => typeof entry === 'string' && entry !== '')) return inputs
  if (inputs.every(isTokenIds)) return inputs
  const at = inputs.findIndex((entry) => !isTokenIds(entry) && (typeof entry !== 'string' || entry === ''))
  throw invalid(
    `input[${Math.max(at, 0)}]`,
    `Inputs are all texts, none empty, or all lists of 1 to ${TOKEN_IDS_MAX} token ids.`,
  )
}

const isTokenIds = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= TOKEN_IDS_MAX &&
  value.every((id) => Number.isSafeInteger(id) && (id as number) >= 0)

function parseDocument(document: unknown, index: number): string {
  const text = isObject(document) ? document.text : document
  if (typeof text === 'string' && text !== '') return text
  throw invalid(
    `documents[${index}]`,
    'A document is a text, or an object with a `text`; neither may be empty.',
  )
}

function parseModerationInput(input: unknown): ModerationTask['input'] {
  const inputs = typeof input === 'string' ? [input] : input
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > INPUTS_MAX)
    throw invalid('input', `\`input\` must be a text, or an array of 1 to ${INPUTS_MAX} texts or parts.`)
  if (inputs.every((entry) => typeof entry === 'string')) return inputs
  return inputs.map(parsePart)
}

function parsePart(part: unknown, index: number): ModerationPart {
  if (isObject(part)) {
    const { type, text, image_url: image } = part
    if (type === 'text' && typeof text === 'string') return { type, text }
    if (type === 'image_url' && isObject(image) && isImageUrl(image.url))
      return { type, image_url: { url: image.url } }
  }
  throw invalid(
    `input[${index}]`,
    'Inputs are all texts, or all parts: {type: "text", text} and {type: "image_url", image_url: {url}}.',
  )
}

const isImageUrl = (url: unknown): url is string =>
  typeof url === 'string' && /^(https?:\/\/|data:image\/)/.test(url)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (param: string, message: string) => new ApiError('invalid_request', message, { param })
