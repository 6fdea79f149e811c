import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import { isObject } from '../../json/json-object.ts'
import { invalid } from '../../kernel/errors.ts'
import type { RequestOf } from '../call-request.ts'
import {
  type CallKind,
  longestAtLeast,
  OBJECT_BODY,
  RESULT_FIELDS,
  RESULT_KIND,
  resultNeeds,
  resultRequest,
  sumOf,
  textBounds,
} from './call-kind.ts'

export interface RerankContent {
  kind: 'rerank'
  query: string
  documents: readonly string[]
  /** The number of best documents to return; absent: all. */
  topN?: number
  /** Whether the result repeats the documents. */
  returnDocuments: boolean
}

const DOCUMENTS_MAX = 1_000
/** A longer result would delay other calls. */
const RETURNED_CHARS_MAX = 1_048_576

/** The body of POST /v1/rerank. Other top-level fields are accepted and dropped. */
export const RerankBody = Type.Object(
  {
    ...RESULT_FIELDS,
    query: Type.String({ minLength: 1 }),
    documents: Type.Array(Type.Unknown({ documented: 'RerankDocument' }), {
      minItems: 1,
      maxItems: DOCUMENTS_MAX,
      errorMessage: `\`documents\` must be an array of 1 to ${DOCUMENTS_MAX} texts.`,
    }),
    top_n: optional(Type.Integer({ minimum: 1 })),
    return_documents: optional(Type.Boolean()),
  },
  OBJECT_BODY,
)

/** Throws ApiError `invalid_request`. */
export function normalizeRerank(body: Static<typeof RerankBody>): RequestOf<RerankContent> {
  const documents = body.documents.map(parseDocument)
  if (body.return_documents && sumOf(documents.map(({ length }) => length)) > RETURNED_CHARS_MAX)
    throw invalid('return_documents', `Documents of ${RETURNED_CHARS_MAX} characters at most are returned.`)
  return resultRequest(body.model, body.provider, {
    kind: 'rerank',
    query: body.query,
    documents,
    ...(body.top_n != null && { topN: body.top_n }),
    returnDocuments: body.return_documents ?? false,
  })
}

export const rerank: CallKind<RerankContent> = {
  surface: 'POST /v1/rerank',
  ...RESULT_KIND,
  needs({ query, documents }) {
    const texts = [query, ...documents]
    const [queryTokens = 0, ...documentTokens] = textBounds(texts)
    const size = {
      // A reranker reads the query with each document.
      textTokens: queryTokens * documents.length + sumOf(documentTokens),
      textTokensAtLeast: longestAtLeast(texts),
      inputs: documents.length,
    }
    return resultNeeds('rerank', size, { unitsBound: () => searchesBound(queryTokens, documentTokens) })
  },
  texts: ({ query, documents }) => [query, ...documents],
  // Each document counts once at most.
  unreportedUnits: ({ documents }) => Math.ceil(documents.length / DOCUMENTS_PER_SEARCH),
}

/** A search is a query with up to this many documents; a longer document counts once per this many tokens. */
const DOCUMENTS_PER_SEARCH = 100
const TOKENS_PER_DOCUMENT = 500
const TOKENS_PER_DOCUMENT_LEAST = 100

/**
 * An upper bound on the searches of a rerank. Source: the price list of the vendor of the only models that are priced
 * by searches.
 */
function searchesBound(queryTokens: number, documentTokens: readonly number[]): number {
  const room = Math.max(TOKENS_PER_DOCUMENT - queryTokens, TOKENS_PER_DOCUMENT_LEAST)
  return Math.ceil(sumOf(documentTokens.map((tokens) => Math.ceil(tokens / room))) / DOCUMENTS_PER_SEARCH)
}

function parseDocument(document: unknown, index: number): string {
  const text = isObject(document) ? document.text : document
  if (typeof text === 'string' && text !== '') return text
  throw invalid(
    `documents[${index}]`,
    'A document must be a non-empty text, or an object with a non-empty `text`.',
  )
}
