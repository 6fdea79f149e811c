import type { FastifyPluginAsync } from 'fastify'
import type { ListedCall } from '../../billing/call-records/call-records.ts'
import {
  formatCursor,
  type QueryParameters,
  readCount,
  readCursor,
  readTimeRange,
  refuseUnknown,
} from '../../core/billing/usage-query.ts'
import type { AppDependencies } from '../app.ts'
import { askingAccount, askingKey, callReader } from '../asking-account.ts'
import { type CallReader, callView } from '../call-view.ts'
import { CSV_PAGE, cursorOf, streamCallsCsv } from '../calls-csv.ts'
import { holdReportSlot } from '../hold-report-slot.ts'
import { reportFormat } from '../report-format.ts'
import { createSlots, REPORTS_OF_KEY } from '../slots.ts'

const PARAMETERS = ['from', 'to', 'format', 'limit', 'cursor', 'account_id']
const PAGE_DEFAULT = 100
const PAGE_MAX = CSV_PAGE
const REPORTS_MAX = 8
const REPORTS_PER_KEY_MAX = 2
/** GET /v1/usage/calls: an account's settled calls, newest first, by the page or as one CSV stream. */
export const usageCallsRoute =
  (path: string): FastifyPluginAsync<AppDependencies> =>
  async (app, { reports, dispatch }) => {
    const slots = createSlots({ max: REPORTS_MAX, maxPerHolder: REPORTS_PER_KEY_MAX, ...REPORTS_OF_KEY })

    app.get(path, { onRequest: [app.requireKey] }, async (request, reply) => {
      const key = askingKey(request)
      const query = request.query as QueryParameters
      refuseUnknown(query, PARAMETERS)
      const accountId = askingAccount(key, query)
      const range = readTimeRange(query, dispatch.clock())
      const limit = readCount(query, 'limit', PAGE_DEFAULT, PAGE_MAX)
      const cursor = readCursor(query)
      const format = reportFormat(request, query)
      const readPage = holdReportSlot(reply.raw, slots.take(key.keyId), (after, size) =>
        reports.calls.page(accountId, range, after, size),
      )
      reply.header('cache-control', 'no-store')
      return format === 'csv'
        ? streamCallsCsv(await readPage(cursor, PAGE_MAX), readPage, reply, callReader(key))
        : onePage(await readPage(cursor, limit + 1), limit, callReader(key))
    })
  }

/** One call more than asked for was read, to tell whether there is another page. */
function onePage(calls: ListedCall[], limit: number, reader: CallReader) {
  const shown = calls.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = calls.length > limit
  return {
    object: 'list',
    data: shown.map((call) => callView(call, reader)),
    has_more: hasMore,
    next_cursor: hasMore && last ? formatCursor(cursorOf(last)) : null,
  }
}
