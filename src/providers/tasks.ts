import type { MediaTask } from '../core/calls/media-task.ts'
import {
  type EmbeddingsTask,
  isMediaTask,
  type ModerationTask,
  type RerankTask,
  type Task,
  VECTOR_COMPONENTS_MAX,
} from '../core/calls/task.ts'
import type { Usage } from '../core/calls/usage.ts'
import type { Offer } from '../core/catalog/catalog.ts'
import { failureOfErrorObject, failureOfStatus } from './chat-completions.ts'
import { formBody } from './http/form-body.ts'
import {
  MEDIA_REPLY_BYTES_MAX,
  type MediaAnswer,
  mediaReply,
  mediaRequest,
  readImages,
  readSpeech,
  readTranscript,
} from './media-tasks.ts'
import type { FilePlace, ReplyFile } from './reply-files.ts'
import {
  type AttemptRequest,
  type CompletionReader,
  type Emit,
  type Fields,
  isObject,
  parseObject,
  requestHeaders,
  type WholeReading,
  type WireMapping,
  type WireRequest,
} from './wire.ts'

/** A vector as a number a component, with what stands around them. */
const WHOLE_VALUES_MAX = VECTOR_COMPONENTS_MAX + 100_000

/** How tasks are asked, of every provider: the paths beside that of chat completions, with small differences as quirks. */
export const tasks: WireMapping = {
  request(request, apiKey) {
    const task = taskOf(request)
    const { provider } = request.offer
    const url = provider.quirks?.taskUrls?.[task.kind] ?? provider.baseUrl + PATHS[task.kind]
    if (isMediaTask(task)) return mediaWireRequest(task, url, request, apiKey)
    return {
      url,
      headers: requestHeaders(provider, apiKey, 'authorization'),
      body: JSON.stringify(bodyOf(task, request.offer)),
    }
  },
  openReader(request) {
    const task = taskOf(request)
    return isMediaTask(task) ? new MediaReader(task, request) : new TaskReader(task)
  },
  failureOfStatus,
  failureOfErrorObject,
}

const PATHS: Record<Task['kind'], string> = {
  embeddings: '/embeddings',
  rerank: '/rerank',
  moderation: '/moderations',
  image: '/images',
  speech: '/audio/speech',
  transcription: '/audio',
}

type TextTask = Exclude<Task, MediaTask>

function mediaWireRequest(
  task: MediaTask,
  url: string,
  { offer: { provider, upstreamModel }, image }: AttemptRequest,
  apiKey: string | null,
): WireRequest {
  const asksForBase64 = provider.quirks?.base64Images
  const request = mediaRequest(task, { upstreamModel, image, asksForBase64 })
  const form = 'files' in request ? formBody(request.fields, request.files) : null
  const headers = requestHeaders(provider, apiKey, 'authorization', {
    ...(form && { contentType: form.contentType }),
    accept: '*/*',
  })
  if (form) headers.push('content-length', String(form.bytes))
  return {
    url: url + request.path,
    headers,
    body: form ?? JSON.stringify('body' in request ? request.body : null),
    replyBytesMax: MEDIA_REPLY_BYTES_MAX,
  }
}

function taskOf({ task }: AttemptRequest): Task {
  if (!task) throw new Error('a chat was sent as a task')
  return task
}

function bodyOf(task: TextTask, { upstreamModel: model, provider }: Offer): Fields {
  switch (task.kind) {
    case 'embeddings': {
      const { input, dimensions, encoding } = task
      const { dimensionsField = 'dimensions', base64Vectors } = provider.quirks ?? {}
      return {
        model,
        input,
        ...(dimensions !== undefined && { [dimensionsField]: dimensions }),
        // Numbers are every provider's default.
        ...(encoding === 'base64' && base64Vectors && { encoding_format: encoding }),
      }
    }
    case 'rerank':
      // All of them are asked for: which are the best, and their texts, are known here.
      return { model, query: task.query, documents: task.documents }
    case 'moderation':
      return { model, input: task.input }
    default:
      return task satisfies never
  }
}

/** Reads the whole reply to a task; what is no answer to all of it is malformed. */
class TaskReader implements CompletionReader {
  readonly wholeValuesMax = WHOLE_VALUES_MAX
  readonly #task: TextTask

  constructor(task: TextTask) {
    this.#task = task
  }

  event(): 'malformed' {
    return 'malformed'
  }

  whole(body: string, emit: Emit): WholeReading {
    const reply = parseObject(body)
    if (reply === null) return 'malformed'
    if (reply.error != null) return { error: reply.error }
    const answer = answerOf(this.#task, reply)
    if (answer === null) return 'malformed'
    emit(['text', JSON.stringify(answer)])
    emit(['finish', 'stop'])
    const usage = usageOf(reply)
    if (usage) emit(['usage', usage, 0])
    return 'ok'
  }
}

/** Reads the whole reply to a task with files, which are in the store. */
class MediaReader implements CompletionReader {
  readonly files?: FilePlace
  readonly wholeValuesMax?: number
  readonly #task: MediaTask
  readonly #image: AttemptRequest['image']

  constructor(task: MediaTask, { image }: AttemptRequest) {
    this.#task = task
    this.#image = image
    Object.assign(this, mediaReply(task))
  }

  event(): 'malformed' {
    return 'malformed'
  }

  whole(body: string, emit: Emit, files: readonly ReplyFile[] = []): WholeReading {
    const reply = this.#task.kind === 'speech' ? {} : parseObject(body)
    if (reply?.error != null) return { error: reply.error }
    const read = reply && this.#answer(reply, files)
    if (!read) return 'malformed'
    emit(['text', JSON.stringify(read.answer)])
    emit(['finish', 'stop'])
    if (read.usage) emit(['usage', read.usage, 0])
    return 'ok'
  }

  #answer(reply: Fields, files: readonly ReplyFile[]): MediaAnswer | null {
    switch (this.#task.kind) {
      case 'image':
        return readImages(this.#task, this.#image!, reply, files)
      case 'speech':
        return readSpeech(this.#task, files)
      case 'transcription':
        return readTranscript(this.#task, reply)
      default:
        return this.#task satisfies never
    }
  }
}

function answerOf(task: TextTask, reply: Fields): unknown[] | null {
  switch (task.kind) {
    case 'embeddings':
      return vectorsOf(task, reply.data)
    case 'rerank':
      return scoresOf(task, reply.results ?? reply.data)
    case 'moderation':
      return verdictsOf(task, reply.results)
    default:
      return task satisfies never
  }
}

/** A vector for each input, in their order, all of one length. */
function vectorsOf({ input, dimensions, encoding }: EmbeddingsTask, data: unknown): unknown[] | null {
  const found = inOrder(data, input.length)
  if (found === null) return null
  const lengths = new Set<number>(dimensions === undefined ? [] : [dimensions])
  const vectors = found.map(({ embedding }, index) => {
    const length = vectorLength(embedding)
    if (length === 0) return null
    lengths.add(length)
    return { object: 'embedding', index, embedding: encoded(embedding as string | number[], encoding) }
  })
  const [length = 0] = lengths
  const isWhole = !vectors.includes(null) && lengths.size === 1
  return isWhole && length * input.length <= VECTOR_COMPONENTS_MAX ? vectors : null
}

const FLOAT_BYTES = 4

/** Components of a vector, as numbers or as 32-bit floats in base64; 0 for anything else. */
function vectorLength(embedding: unknown): number {
  if (Array.isArray(embedding)) return embedding.every(Number.isFinite) ? embedding.length : 0
  if (typeof embedding !== 'string') return 0
  const components = Buffer.byteLength(embedding, 'base64') / FLOAT_BYTES
  return Number.isInteger(components) ? components : 0
}

function encoded(embedding: string | number[], encoding: EmbeddingsTask['encoding']): string | number[] {
  if (typeof embedding === 'string') return encoding === 'base64' ? embedding : floatsOf(embedding)
  return encoding === 'float' ? embedding : base64Of(embedding)
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * FLOAT_BYTES)
  return bytes.toString('base64')
}

function floatsOf(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, index) =>
    bytes.readFloatLE(index * FLOAT_BYTES),
  )
}

/** Scored documents, the best first. */
function scoresOf({ documents, topN, returnDocuments }: RerankTask, results: unknown): unknown[] | null {
  const found = inOrder(results, documents.length)
  if (found?.every(({ relevance_score: score }) => Number.isFinite(score)) !== true) return null
  return found
    .map(({ relevance_score: score }, index) => ({
      index,
      relevance_score: score as number,
      ...(returnDocuments && { document: { text: documents[index] } }),
    }))
    .sort((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, topN)
}

/** A verdict for each text, or one for the parts of one content. */
function verdictsOf({ input }: ModerationTask, results: unknown): unknown[] | null {
  if (!Array.isArray(results) || results.length === 0 || !results.every(isObject)) return null
  const count = input.every((entry) => typeof entry === 'string') ? input.length : 1
  if (results.length !== count) return null
  return results.map(({ flagged, categories, category_scores, category_applied_input_types }) => ({
    flagged:
      typeof flagged === 'boolean' ? flagged : Object.values(only(categories, isBoolean)).includes(true),
    categories: only(categories, isBoolean),
    category_scores: only(category_scores, Number.isFinite),
    ...(category_applied_input_types !== undefined && {
      category_applied_input_types: only(category_applied_input_types, isTexts),
    }),
  }))
}

/** Of an object, what is of a kind. */
const only = (value: unknown, isOne: (entry: unknown) => boolean): Fields =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, entry]) => isOne(entry))) : {}

const isBoolean = (value: unknown) => typeof value === 'boolean'
const isTexts = (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === 'string')

/** Entries by their `index`, of which there is exactly one each. */
function inOrder(entries: unknown, count: number): Fields[] | null {
  if (!Array.isArray(entries) || entries.length !== count) return null
  const ordered: Array<Fields | undefined> = Array.from({ length: count })
  for (const [position, entry] of entries.entries()) {
    if (!isObject(entry)) return null
    const index = entry.index ?? position
    if (typeof index !== 'number' || !(index in ordered) || ordered[index] !== undefined) return null
    ordered[index] = entry
  }
  return ordered as Fields[]
}

/** Tokens and searches as providers report them; null where they report neither. */
function usageOf({ usage, meta }: Fields): Usage | null {
  const tokens = isObject(usage) ? (usage.prompt_tokens ?? usage.total_tokens) : undefined
  const billed = isObject(meta) && isObject(meta.billed_units) ? meta.billed_units : {}
  const { search_units: units, input_tokens: input } = billed
  const promptTokens = [tokens, input].find((value) => typeof value === 'number')
  if (promptTokens === undefined && typeof units !== 'number') return null
  return {
    promptTokens: (promptTokens as number | undefined) ?? 0,
    completionTokens: 0,
    ...(typeof units === 'number' && { units }),
  }
}
