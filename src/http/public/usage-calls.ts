import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { ListedCall } from '../../billing/call-records/call-records.ts'
import type { Reports } from '../../billing/reports/reports.ts'
import { GenerationPage } from '../../core/api/public-api.ts'
import { Cursor, formatCursor, parseCursor, TIME_RANGE, timeRange } from '../../core/billing/usage-query.ts'
import { ACCOUNT_ID, accountToRead, askingKey, callReader, refuseOtherAccount } from '../asking-account.ts'
import { type CallReader, callView } from '../call-view.ts'
import { CSV_PAGE, cursorOf, streamCallsCsv } from '../calls-csv.ts'
import { holdReportSlot } from '../hold-report-slot.ts'
import { ReportFormat, reportFormat } from '../report-format.ts'
import { createSlots, REPORTS_OF_KEY } from '../slots.ts'

const PAGE_DEFAULT = 100
const PAGE_MAX = CSV_PAGE
const REPORTS_MAX = 8
const REPORTS_PER_KEY_MAX = 2

const CallsQuery = Type.Object(
  {
    ...TIME_RANGE,
    format: ReportFormat,
    limit: Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT }),
    cursor: Type.Optional(Cursor),
    ...ACCOUNT_ID,
  },
  { additionalProperties: false },
)

interface UsageCallsDependencies {
  reports: Pick<Reports, 'calls'>
  clock: () => number
}

/** GET /v1/usage/calls: an account's settled calls, newest first, by the page or as one CSV stream. */
export const usageCallsRoute =
  (path: string): FastifyPluginAsyncTypebox<UsageCallsDependencies> =>
  async (app, { reports, clock }) => {
    const slots = createSlots({ max: REPORTS_MAX, maxPerHolder: REPORTS_PER_KEY_MAX, ...REPORTS_OF_KEY })

    const options = {
      onRequest: [app.requireKey],
      preValidation: refuseOtherAccount,
      schema: {
        summary: "An account's settled calls, newest first, by the page or as one CSV stream",
        querystring: CallsQuery,
        response: { 200: GenerationPage },
      },
    }
    app.get(path, options, async (request, reply) => {
      const { query } = request
      const key = askingKey(request)
      const accountId = accountToRead(key, query)
      const range = timeRange(query, clock())
      const cursor = query.cursor === undefined ? null : parseCursor(query.cursor)
      const format = reportFormat(request, query.format)
      const readPage = holdReportSlot(reply.raw, slots.take(key.keyId), (after, size) =>
        reports.calls.page(accountId, range, after, size),
      )
      reply.header('cache-control', 'no-store')
      return format === 'csv'
        ? streamCallsCsv(await readPage(cursor, PAGE_MAX), readPage, reply, callReader(key))
        : onePage(await readPage(cursor, query.limit + 1), query.limit, callReader(key))
    })
  }

/** One call more than asked for was read, to tell whether there is another page. */
function onePage(calls: ListedCall[], limit: number, reader: CallReader) {
  const shown = calls.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = calls.length > limit
  return {
    object: 'list' as const,
    data: shown.map((call) => callView(call, reader)),
    has_more: hasMore,
    next_cursor: hasMore && last ? formatCursor(cursorOf(last)) : null,
  }
}
