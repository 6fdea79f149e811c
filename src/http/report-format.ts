import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type QueryParameters,
  readChoice,
  USAGE_FORMATS,
  type UsageFormat,
} from '../core/billing/usage-query.ts'

/** The format of a report: the parameter `format`, else CSV where the client accepts nothing but that, else JSON. */
export function reportFormat(request: FastifyRequest, query: QueryParameters): UsageFormat {
  const accepted = (request.headers.accept ?? '').split(',').map((type) => type.split(';')[0]?.trim())
  const wantsCsv = accepted.includes('text/csv') && !accepted.includes('application/json')
  return readChoice(query, 'format', USAGE_FORMATS, wantsCsv ? 'csv' : 'json')
}

/** Headers of a CSV answer, to be saved under a name. */
export function asCsv(reply: FastifyReply, name: string): FastifyReply {
  return reply.headers({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
