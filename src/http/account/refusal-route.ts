import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { jsonView } from '../../core/api/json-view.ts'
import { RefusalsView, RefusalView } from '../../core/api/refusals.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { TIME_RANGE } from '../../core/billing/usage-query.ts'
import { partStarts, TIME_ZONE, zonedTimeRange } from '../../core/billing/zoned-time-range.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { bySession } from '../account-api/account-access.ts'

const Query = Type.Object({ ...TIME_RANGE, ...TIME_ZONE }, CLOSED)
const ROWS_MAX = 100

/** GET /usage/refusals: requests of the account's keys that were refused before a call was admitted. */
export const refusalRoute: FastifyPluginAsyncTypebox = async (app) => {
  const { refusalStore } = app.calls
  const { clock } = app.accounts
  const { consoleSlots } = app.billing
  const { requester, hooks } = bySession(app, 'usage')
  app.get(
    '/usage/refusals',
    { ...hooks, schema: { querystring: Query, response: { 200: RefusalsView } } },
    async (request) => {
      const { accountId, holder } = requester(request)
      const range = zonedTimeRange(request.query, clock())
      const starts = partStarts(range, request.query.time_zone)
      const rows = await consoleSlots.run(holder, () => refusalStore.read(accountId, range, starts, ROWS_MAX))
      return {
        object: 'list' as const,
        starts: starts.map(isoTime),
        data: rows.map((row) => jsonView(RefusalView, row)),
      }
    },
  )
}
