import { Readable } from 'node:stream'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import type { ListedCall } from '../../billing/call-record-store.ts'
import { csvLine } from '../../core/csv.ts'
import {
  type CallCursor,
  formatCursor,
  type QueryParameters,
  readCount,
  readCursor,
  readTimeRange,
  refuseUnknown,
} from '../../core/usage-query.ts'
import type { AppDependencies } from '../app.ts'
import { askingAccount, askingKey } from '../asking-account.ts'
import { CALL_CSV_HEAD, callCsvCells, callView } from '../call-view.ts'
import { readBooks } from '../read-books.ts'
import { asCsv, reportFormat } from '../report-format.ts'
import { createReportSlots } from '../report-slots.ts'

const PARAMETERS = ['from', 'to', 'format', 'limit', 'cursor', 'account_id']
const PAGE_DEFAULT = 100
const PAGE_MAX = 1_000
const REPORTS_MAX = 8
const REPORTS_PER_KEY_MAX = 2
/** A client that takes nothing of its export for so long is cut off, and its slot is free again. */
const SILENCE_MAX_MS = 60_000

/** Reads the page after a cursor. */
type ReadPage = (after: CallCursor | null, limit: number) => Promise<ListedCall[]>

/** GET /v1/usage/calls: an account's settled calls, newest first, by the page or as one CSV stream. */
export const usageCallsRoute =
  (path: string): FastifyPluginAsync<AppDependencies> =>
  async (app, { reports, dispatch }) => {
    const slots = createReportSlots(REPORTS_MAX, REPORTS_PER_KEY_MAX)

    app.get(path, { onRequest: [app.requireKey] }, async (request, reply) => {
      const key = askingKey(request)
      const query = request.query as QueryParameters
      refuseUnknown(query, PARAMETERS)
      const accountId = askingAccount(key, query)
      const range = readTimeRange(query, dispatch.clock())
      const limit = readCount(query, 'limit', PAGE_DEFAULT, PAGE_MAX)
      const cursor = readCursor(query)
      const format = reportFormat(request, query)
      const readPage: ReadPage = (after, size) =>
        readBooks(reports.calls.page(accountId, range, after, size), dispatch.logger)

      const giveBack = slots.take(key.keyId)
      reply.raw.once('close', giveBack)
      reply.header('cache-control', 'no-store')
      return format === 'csv'
        ? streamCsv(await readPage(cursor, PAGE_MAX), readPage, reply)
        : onePage(await readPage(cursor, limit + 1), limit)
    })
  }

/** One call more than asked for was read, to tell whether there is another page. */
function onePage(calls: ListedCall[], limit: number) {
  const shown = calls.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = calls.length > limit
  return {
    object: 'list',
    data: shown.map(callView),
    has_more: hasMore,
    next_cursor: hasMore && last ? formatCursor(cursorOf(last)) : null,
  }
}

/**
 * Streams every call from the first page on, a page at a time and as fast as the client reads. When a page
 * cannot be read the connection breaks off, so that half an export does not look like a whole one.
 */
function streamCsv(first: ListedCall[], readPage: ReadPage, reply: FastifyReply): FastifyReply {
  async function* lines(): AsyncGenerator<string> {
    yield csvLine(CALL_CSV_HEAD)
    for (let page = first; ; ) {
      yield page.map((call) => csvLine(callCsvCells(callView(call)))).join('')
      const last = page.at(-1)
      if (page.length < PAGE_MAX || !last) return
      page = await readPage(cursorOf(last), PAGE_MAX)
    }
  }
  reply.raw.setTimeout(SILENCE_MAX_MS, () => reply.raw.destroy())
  return asCsv(reply, 'calls').send(Readable.from(lines(), { objectMode: false }))
}

const cursorOf = ({ id, admittedAt }: ListedCall): CallCursor => ({ admittedAtMs: admittedAt, callId: id })
