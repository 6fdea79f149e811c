import type { ModelKind } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'
import { createTextBound } from '../text-tokens/text-bound.ts'
import type { MediaPart } from './content-part.ts'
import { type ImageUnits, type MediaTask, mediaUnitsBound } from './media-task.ts'

/**
 * What a call asks that is no chat: one request with one whole answer. It travels in the call's body; its answer is the
 * content of a completion's message, as the JSON text of an array: of vectors, of scored documents, of verdicts; of
 * references to the files that were made, or of a transcript.
 */
export type Task = EmbeddingsTask | RerankTask | ModerationTask | MediaTask

export interface EmbeddingsTask {
  kind: 'embeddings'
  /** Texts, or token ids of the model's own vocabulary. */
  input: readonly string[] | readonly (readonly number[])[]
  /** Components of each vector; absent: as many as the model makes. */
  dimensions?: number
  /** How the client reads vectors: as numbers, or as 32-bit floats, little-endian, in base64. */
  encoding: VectorEncoding
}

export const VECTOR_ENCODINGS = ['float', 'base64'] as const
export type VectorEncoding = (typeof VECTOR_ENCODINGS)[number]

export interface RerankTask {
  kind: 'rerank'
  query: string
  documents: readonly string[]
  /** How many of the best are wanted; absent: all. */
  topN?: number
  /** Whether the answer repeats the documents. */
  returnDocuments: boolean
}

export interface ModerationTask {
  kind: 'moderation'
  /** Texts with a verdict each; or the parts of one content with one verdict. */
  input: readonly string[] | readonly ModerationPart[]
}

export type ModerationPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }

/** The kind of model that a request needs. */
export const modelKindOf = ({ task }: { task?: Task | undefined }): ModelKind => task?.kind ?? 'chat'

/** Components of all vectors of one answer: 1 MiB of 32-bit floats. */
export const VECTOR_COMPONENTS_MAX = 262_144

/** What tokenizers put around a text. */
const TOKENS_AROUND = 8

/** Whether a task makes or reads files. */
export const isMediaTask = (task: Task): task is MediaTask =>
  task.kind === 'image' || task.kind === 'speech' || task.kind === 'transcription'

/** The texts that a task sends whose tokens count, each read by its model apart from the others; token ids are none. */
export function taskTexts(task: Task): string[] {
  switch (task.kind) {
    case 'embeddings':
      return task.input.filter((input) => typeof input === 'string')
    case 'rerank':
      return [task.query, ...task.documents]
    case 'moderation':
      return task.input.flatMap((input) =>
        typeof input === 'string' ? [input] : input.type === 'text' ? [input.text] : [],
      )
    case 'image':
      return [task.prompt]
    case 'speech':
    case 'transcription':
      return []
    default:
      return task satisfies never
  }
}

/** The images that a task sends, of sizes that are not known here. */
export function taskMedia(task: Task): MediaPart[] {
  if (task.kind !== 'image') return []
  const files = task.mask ? [...task.sources, task.mask] : task.sources
  return files.map(({ ref: url }) => ({ type: 'image', source: { url } }))
}

/** How many texts a model reads one by one, each within its window. */
export function taskInputs(task: Task): number {
  if (isMediaTask(task)) return 1
  return task.kind === 'rerank' ? task.documents.length : task.input.length
}

/** Upper bounds of the tokens of a task's texts, at every model. */
const textBounds = oncePer((task: Task): number[] => {
  const boundOf = createTextBound()
  return taskTexts(task).map((text) => boundOf(text) + TOKENS_AROUND)
})

/** An upper bound of a task's tokens, at every model. A reranker reads the query with every document. */
export function taskTokensBound(task: Task): number {
  const bounds = textBounds(task)
  const sum = bounds.reduce((total, bound) => total + bound, 0)
  if (task.kind === 'rerank') return sum + bounds[0]! * (task.documents.length - 1)
  return sum + tokenIds(task)
}

/** No tokenizer makes fewer tokens than this of the longest text that is read at once. */
export function taskTokensAtLeast(task: Task, charsPerToken: number): number {
  const longest = Math.max(0, ...taskTexts(task).map((text) => Math.floor(text.length / charsPerToken)))
  return Math.max(longest, longestIds(task))
}

const idsOf = (task: Task): readonly (readonly number[])[] =>
  task.kind === 'embeddings' ? task.input.filter((input) => typeof input !== 'string') : []

const tokenIds = (task: Task): number =>
  idsOf(task).reduce((sum, { length }) => sum + length + TOKENS_AROUND, 0)

const longestIds = (task: Task): number => Math.max(0, ...idsOf(task).map(({ length }) => length))

/** A search is a query with up to so many documents; a longer document counts once for every so many tokens. */
const DOCUMENTS_PER_SEARCH = 100
const TOKENS_PER_DOCUMENT = 500
const TOKENS_PER_DOCUMENT_LEAST = 100

/**
 * The units that a task takes at most, of a model that counts them; `imageUnits`: of a model for images, which makes
 * what is asked.
 * Source: the price list of the maker of the only models that are priced by searches.
 */
export function taskUnitsBound(task: Task, imageUnits?: ImageUnits): number {
  if (isMediaTask(task)) return mediaUnitsBound(task, imageUnits) ?? 0
  if (task.kind !== 'rerank') return 0
  const [query = 0, ...documents] = textBounds(task)
  const room = Math.max(TOKENS_PER_DOCUMENT - query, TOKENS_PER_DOCUMENT_LEAST)
  const parts = documents.reduce((sum, tokens) => sum + Math.ceil(tokens / room), 0)
  return Math.ceil(parts / DOCUMENTS_PER_SEARCH)
}

/** The units of a task whose provider does not say: as many as were held for, but no document counts more than once. */
export const taskUnits = (task: Task, bound: number): number =>
  task.kind === 'rerank' ? Math.ceil(task.documents.length / DOCUMENTS_PER_SEARCH) : bound
