import { EmbeddingsBody, normalizeEmbeddings } from '../../core/calls/kinds/embeddings.ts'
import { ModerationsBody, normalizeModerations } from '../../core/calls/kinds/moderation.ts'
import { normalizeRerank, RerankBody } from '../../core/calls/kinds/rerank.ts'
import { jsonAround, tokensUsed } from '../calls/result-format.ts'
import { jsonRoute } from './result-routes.ts'

/** The routes with texts in the request and one result for them in the response. */
export const TEXT_RESULT_ROUTES = {
  embeddings: jsonRoute({
    summary: 'Vectors of texts',
    body: EmbeddingsBody,
    normalize: normalizeEmbeddings,
    write: ({ head: { id, model }, result, usage }) =>
      jsonAround({ id, object: 'list', model }, 'data', result, tokensUsed(usage)),
  }),
  rerank: jsonRoute({
    summary: 'Documents by their relevance to a query',
    body: RerankBody,
    normalize: normalizeRerank,
    write: ({ head: { id, model }, result, usage }) =>
      jsonAround({ id, model }, 'results', result, {
        ...tokensUsed(usage),
        ...(usage?.units !== undefined && { meta: { billed_units: { search_units: usage.units } } }),
      }),
  }),
  moderations: jsonRoute({
    summary: 'Verdicts on texts and images',
    body: ModerationsBody,
    normalize: normalizeModerations,
    write: ({ head: { id, model }, result }) => jsonAround({ id, model }, 'results', result),
  }),
}
