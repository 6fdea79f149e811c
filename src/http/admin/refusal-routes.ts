import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { jsonView } from '../../core/api/json-view.ts'
import { OperatorRefusalsView, OperatorRefusalView } from '../../core/api/refusals.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { TIME_RANGE, timeRange } from '../../core/billing/usage-query.ts'
import { partStarts } from '../../core/billing/zoned-time-range.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { operatorRoute, signedInOperator } from '../plugins/operator-access.ts'
import { reportSlots } from '../slots.ts'

const Query = Type.Object(
  {
    /** An id, an email or the name of an organisation. */
    account: Type.Optional(Type.String()),
    ...TIME_RANGE,
  },
  CLOSED,
)
const ROWS_MAX = 200
const REPORTS_MAX = 2

/** GET /refusals: requests that were refused before a call was admitted, of all accounts or one. */
export const refusalRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { refusalStore } = app.calls
  const { accountManagement, hostClock: clock } = app.operators
  const slots = reportSlots(REPORTS_MAX, REPORTS_MAX)
  app.get(
    '/refusals',
    operatorRoute('read', OperatorRefusalsView, { querystring: Query }),
    async (request) => {
      const { account, ...period } = request.query
      const accountId = account === undefined ? null : (await accountManagement.findNamed(account)).id
      const range = timeRange(period, clock())
      const starts = partStarts(range)
      const rows = await slots.run(signedInOperator(request).id, () =>
        refusalStore.read(accountId, range, starts, ROWS_MAX),
      )
      return {
        object: 'list' as const,
        starts: starts.map(isoTime),
        data: rows.map((row) => jsonView(OperatorRefusalView, row)),
      }
    },
  )
}
