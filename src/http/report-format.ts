import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'

/** The parameter of the format of a report. */
export const REPORT_FORMAT = { format: Type.Optional(Type.Enum(['json', 'csv'])) }

/** The format of a report: as asked for, else CSV where the client accepts nothing but that, else JSON. */
export function reportFormat({ query, headers }: FastifyRequest<{ Querystring: unknown }>): 'json' | 'csv' {
  const { format } = query as { format?: 'json' | 'csv' }
  const accepted = (headers.accept ?? '').split(',').map((type) => type.split(';')[0]?.trim())
  const wantsCsv = accepted.includes('text/csv') && !accepted.includes('application/json')
  return format ?? (wantsCsv ? 'csv' : 'json')
}

/** Headers of a CSV answer, to be saved under a name. */
export function asCsv(reply: FastifyReply, name: string): FastifyReply {
  return reply.headers({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
