import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ListedCalls } from '../../billing/call-records/call-list.ts'
import type { CallPosition } from '../../core/billing/call-cursor.ts'
import { asCsv, csvLine } from '../csv.ts'
import { CALL_CSV_HEAD, type CallReader, callCsvCells, callView } from './call-view.ts'

/** The parameter of the format of a report. */
export const REPORT_FORMAT = { format: Type.Optional(Type.Enum(['json', 'csv'])) }

/** The format of a report: the requested one, otherwise CSV if the client accepts only that, otherwise JSON. */
export function reportFormat({ query, headers }: FastifyRequest<{ Querystring: unknown }>): 'json' | 'csv' {
  const { format } = query as { format?: 'json' | 'csv' }
  const accepted = (headers.accept ?? '').split(',').map((type) => type.split(';')[0]?.trim())
  const wantsCsv = accepted.includes('text/csv') && !accepted.includes('application/json')
  return format ?? (wantsCsv ? 'csv' : 'json')
}

/** Calls read per page. */
export const CSV_PAGE = 1_000
/** A client that reads nothing of its export for this long is disconnected, and its slot is free again. */
const SILENCE_MAX_MS = 60_000

/** Reads the page at a position. */
export type ReadPage = (position: CallPosition | null, limit: number) => Promise<ListedCalls>

/**
 * Streams every call from the first page on, one page at a time and as fast as the client reads. If a page cannot be
 * read, the connection is broken, so that an incomplete export is not taken for a complete one.
 */
export function streamCallsCsv(
  first: ListedCalls,
  readPage: ReadPage,
  reply: FastifyReply,
  reader: CallReader,
): FastifyReply {
  async function* lines(): AsyncGenerator<string> {
    yield csvLine(CALL_CSV_HEAD)
    for (let page = first; ; ) {
      yield page.calls.map((call) => csvLine(callCsvCells(callView(call, reader)))).join('')
      if (page.next === null) return
      page = await readPage(page.next, CSV_PAGE)
    }
  }
  reply.raw.setTimeout(SILENCE_MAX_MS, () => reply.raw.destroy())
  return asCsv(reply, 'calls').send(Readable.from(lines(), { objectMode: false }))
}
