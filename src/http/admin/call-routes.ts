import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { ARCHIVED_CALL, type CallSearch } from '../../billing/call-records/call-records.ts'
import { findCallInFlight } from '../../billing/call-records/find-call-in-flight.ts'
import { operatorCall, settledTimeline } from '../../billing/call-records/operator-call.ts'
import { CALL_STATUSES, CallTimelineView, OperatorCall } from '../../core/api/calls.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { TIME_RANGE, timeRange } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import { DAY_MS, isoTime } from '../../core/kernel/time.ts'
import { ID_PAGE, idPage, OfId } from '../page.ts'
import { askingOperator, needs } from '../plugins/operator-access.ts'
import { reportSlots } from '../slots.ts'

const CallQuery = Type.Object(
  {
    /** An id or an email. */
    account: Type.Optional(Type.String()),
    key: Type.Optional(Type.String()),
    request: Type.Optional(Type.String()),
    status: Type.Optional(Type.Enum([...CALL_STATUSES])),
    model: Type.Optional(Type.String()),
    offer: Type.Optional(Type.String()),
    min_duration_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: DAY_MS })),
    ...TIME_RANGE,
    ...ID_PAGE,
  },
  CLOSED,
)
const SEARCHES_MAX = 4

/** GET /calls: a search over settled calls of all accounts; GET /calls/:id/timeline: one call, also while it runs. */
export const callRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accountManagement, calls, promptLogs, queues, clock } = app.services
  const slots = reportSlots(SEARCHES_MAX, SEARCHES_MAX)

  app.get(
    '/calls',
    {
      ...needs('read'),
      schema: { querystring: CallQuery, response: { 200: Page(OperatorCall) } },
    },
    async (request) => {
      const { query } = request
      const range = timeRange(query, clock())
      const { account } = query
      const filter = filterOf(
        account?.includes('@') ? { ...query, account: (await accountManagement.find(account)).id } : query,
      )
      return slots.run(askingOperator(request).actor, () =>
        idPage(query, ({ after, limit }) => calls.search(filter, range, after, limit), operatorCall),
      )
    },
  )

  const timeline = {
    ...needs('read'),
    schema: { params: OfId, response: { 200: CallTimelineView } },
  }
  app.get('/calls/:id/timeline', timeline, async ({ params: { id } }) => {
    if (callCreatedAt(id) === null) throw unknownCall()
    const find = async (): Promise<CallTimelineView | null> => {
      const record = await calls.find(id)
      if (record) return settledTimeline(record)
      const inFlight = await findCallInFlight(id, queues.calls)
      if (inFlight) return inFlight
      // It may have been settled between the two reads.
      const settled = await calls.find(id)
      return settled && settledTimeline(settled)
    }
    const found = await find()
    if (!found) throw (await calls.isArchived(id)) ? new ApiError('not_found', ARCHIVED_CALL) : unknownCall()
    const until = (await promptLogs.expiries([id])).get(id)
    return found.state === 'settled' && until ? { ...found, prompt_log_until: isoTime(until) } : found
  })
}

const filterOf = (query: Static<typeof CallQuery>): CallSearch => ({
  accountId: query.account ?? null,
  keyId: query.key ?? null,
  requestId: query.request ?? null,
  status: query.status ?? null,
  model: query.model ?? null,
  offerId: query.offer ?? null,
  minDurationMs: query.min_duration_ms ?? null,
})

const unknownCall = (): ApiError =>
  new ApiError('not_found', 'Call not found. Rejected requests have no record.')
