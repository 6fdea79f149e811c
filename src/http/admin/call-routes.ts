import type { FastifyPluginAsync } from 'fastify'
import type { CallSearch } from '../../billing/call-records/call-records.ts'
import { findCallInFlight } from '../../billing/call-records/find-call-in-flight.ts'
import { operatorCall, settledTimeline } from '../../billing/call-records/operator-call.ts'
import type { CallTimelineView, OperatorCall } from '../../core/api/calls.ts'
import type { OperatorPage } from '../../core/api/shared.ts'
import {
  type QueryParameters,
  readChoice,
  readCount,
  readText,
  readTimeRange,
  refuseUnknown,
} from '../../core/billing/usage-query.ts'
import { callCreatedAt } from '../../core/calls/call-created-at.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { askingKey } from '../asking-account.ts'
import { createSlots, REPORTS_OF_KEY } from '../slots.ts'
import { idPage, readIdPage } from './id-page.ts'
import type { OperatorServices } from './operator-services.ts'

const PARAMETERS = 'account key request status model offer min_duration_ms from to limit cursor'.split(' ')
const STATUSES = ['', 'completed', 'failed', 'cancelled', 'interrupted'] as const
const DURATION_MAX_MS = 86_400_000
const SEARCHES_MAX = 4

/** GET /calls: settled calls of everybody, searched; GET /calls/:id/timeline: one call, also while it runs. */
export const callRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { calls, queues, clock } = services
  const slots = createSlots({ max: SEARCHES_MAX, maxPerHolder: SEARCHES_MAX, ...REPORTS_OF_KEY })

  app.get('/calls', async (request): Promise<OperatorPage<OperatorCall>> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, PARAMETERS)
    const page = readIdPage(query)
    const range = readTimeRange(query, clock())
    const filter = readFilter(query)
    return slots.run(askingKey(request).keyId, async () => {
      const found = calls.search(filter, range, page.after, page.limit + 1)
      return idPage(await found, page, operatorCall)
    })
  })

  app.get<{ Params: { id: string } }>('/calls/:id/timeline', async (request): Promise<CallTimelineView> => {
    const { id } = request.params
    if (callCreatedAt(id) === null) throw unknownCall()
    const both = { dispatchQueue: queues.dispatch, settlementQueue: queues.settlement }
    const find = async (): Promise<CallTimelineView | null> => {
      const record = await calls.find(id)
      if (record) return settledTimeline(record)
      const inFlight = await findCallInFlight(id, both)
      if (inFlight) return inFlight
      // It may have been settled between the two looks.
      const settled = await calls.find(id)
      return settled && settledTimeline(settled)
    }
    const found = await find()
    if (!found) throw unknownCall()
    return found
  })
}

const readFilter = (query: QueryParameters): CallSearch => ({
  accountId: readText(query, 'account'),
  keyId: readText(query, 'key'),
  requestId: readText(query, 'request'),
  status: readChoice(query, 'status', STATUSES, '') || null,
  model: readText(query, 'model'),
  offerId: readText(query, 'offer'),
  minDurationMs: readCount(query, 'min_duration_ms', 0, DURATION_MAX_MS) || null,
})

const unknownCall = (): ApiError =>
  new ApiError('not_found', 'There is no such call: it was refused before the queue, or never was.')
