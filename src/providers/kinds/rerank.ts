import type { RerankContent } from '../../core/calls/kinds/rerank.ts'
import { inOrder, type ResultKind, usageOf } from './result-kind.ts'

export const rerank: ResultKind<RerankContent> = {
  path: '/rerank',
  // All of them are asked for: which are the best, and their texts, are known here.
  request: ({ query, documents }, { upstreamModel: model }) => ({ body: { model, query, documents } }),
  read(content, { body }) {
    const result = scoresOf(content, body.results ?? body.data)
    return result && { result, usage: usageOf(body) }
  },
}

/** Scored documents, the best first. */
function scoresOf({ documents, topN, returnDocuments }: RerankContent, results: unknown): object[] | null {
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
