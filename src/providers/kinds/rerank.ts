import type { RerankContent } from '../../core/calls/kinds/rerank.ts'
import { inOrder, type ResultKind, usageOf } from './result-kind.ts'

export const rerank: ResultKind<RerankContent> = {
  path: '/rerank',
  // All scores are requested: the gateway selects the best and has the texts.
  request: ({ query, documents }, { upstreamModel: model }) => ({ body: { model, query, documents } }),
  read(content, { body }) {
    const result = scoresOf(content, body.results ?? body.data)
    return result && { result, usage: usageOf(body) }
  },
}

/** The scored documents, the best first. */
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
