import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { CallFilter, CallRecord, ListedCall } from '../../billing/call-records/call-records.ts'
import { CallDetail, CallSummary } from '../../core/api/calls.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { UsageView } from '../../core/api/usage.ts'
import { formatCursor, readCursor, readTimeRange, USAGE_GROUPS } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import { callView, isRescued, ownKeyFailures } from '../call-view.ts'
import { CSV_PAGE, cursorOf, type ReadPage, streamCallsCsv } from '../calls-csv.ts'
import { holdReportSlot } from '../hold-report-slot.ts'
import { OfId } from '../of-id.ts'
import { signedIn } from '../plugins/session.ts'
import { sumUsage, usageView } from '../public/usage.ts'
import type { ConsoleDependencies } from './console-routes.ts'

const SPAN = { from: Type.Optional(Type.String()), to: Type.Optional(Type.String()) }
const UsageQuery = Type.Object(
  { ...SPAN, group_by: Type.Enum([...USAGE_GROUPS], { default: 'day' }) },
  CLOSED,
)
const CallFilters = Type.Object(
  {
    ...SPAN,
    model: Type.Optional(Type.String()),
    key_id: Type.Optional(Type.String()),
    status: Type.Enum(['completed', 'failed', 'cancelled', 'interrupted', 'any'], { default: 'any' }),
  },
  CLOSED,
)
const CallPage = Type.Object(
  {
    ...CallFilters.properties,
    cursor: Type.Optional(Type.String()),
    limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  },
  CLOSED,
)

/** What the account's calls used and cost: sums, the list of them, one of them. Never where one went. */
export const usageRoutes: FastifyPluginAsyncTypebox<ConsoleDependencies> = async (app, deps) => {
  const { reports, clock, consoleSlots } = deps
  const ofSession = { onRequest: [app.requireSession] }

  /** How an account's pages of calls are read, as the query filters them. */
  const pagesOf = (request: FastifyRequest, query: Static<typeof CallFilters>): ReadPage => {
    const { account } = signedIn(request)
    const range = readTimeRange(query, clock())
    const filter = filterOf(query)
    return (after, size) => reports.calls.page(account.id, range, after, size, filter)
  }

  const ofUsage = { ...ofSession, schema: { querystring: UsageQuery, response: { 200: UsageView } } }
  app.get('/usage', ofUsage, async (request) => {
    const { account } = signedIn(request)
    const { group_by: group } = request.query
    const range = readTimeRange(request.query, clock())
    return consoleSlots.run(account.id, async () => {
      return usageView(await sumUsage(reports, account.id, range, group), range, group)
    })
  })

  const ofCalls = { ...ofSession, schema: { querystring: CallPage, response: { 200: Page(CallSummary) } } }
  app.get('/calls', ofCalls, async (request) => {
    const { limit } = request.query
    const cursor = readCursor(request.query)
    const readPage = pagesOf(request, request.query)
    return consoleSlots.run(signedIn(request).account.id, async () => {
      const found = await readPage(cursor, limit + 1)
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return {
        data: shown.map(callSummary),
        next_cursor: found.length > limit && last ? formatCursor(cursorOf(last)) : null,
      }
    })
  })

  app.get('/calls.csv', { ...ofSession, schema: { querystring: CallFilters } }, async (request, reply) => {
    const giveBack = consoleSlots.take(signedIn(request).account.id)
    const readPage = holdReportSlot(reply.raw, giveBack, pagesOf(request, request.query))
    return streamCallsCsv(await readPage(null, CSV_PAGE), readPage, reply, 'owner')
  })

  const ofCall = { ...ofSession, schema: { params: OfId, response: { 200: CallDetail } } }
  app.get('/calls/:id', ofCall, async (request) => {
    const { account } = signedIn(request)
    const { id } = request.params
    const unknown = new ApiError('not_found', 'This account has no call of that id.')
    if (callCreatedAt(id) === null) throw unknown
    return consoleSlots.run(account.id, async () => {
      const found = await reports.findCall(id, account.id)
      if (found.kind === 'settled') return callDetail(found.call)
      if (found.kind === 'unknown') throw unknown
      throw new ApiError('not_found', 'This call is not settled yet. Ask again shortly.', {
        retryAfterSeconds: 1,
        shouldRetry: true,
      })
    })
  })
}

const filterOf = ({ model, key_id: keyId, status }: Static<typeof CallFilters>): CallFilter => ({
  ...(model !== undefined && { model }),
  ...(keyId !== undefined && { keyId }),
  ...(status !== 'any' && { status }),
})

/** A settled call in a line. */
export function callSummary(call: ListedCall): CallSummary {
  const view = callView(call, 'owner')
  return {
    id: view.id,
    created_at: view.timings.admitted_at,
    model: view.model,
    key_id: view.key_id,
    status: view.status,
    error_code: view.error_code,
    stream: view.stream,
    byok: view.byok,
    prompt_tokens: view.usage.prompt_tokens,
    completion_tokens: view.usage.completion_tokens,
    cost_usd: view.cost_usd,
    first_token_ms: view.timings.first_token_ms,
    duration_ms: view.timings.duration_ms,
  }
}

function callDetail(call: CallRecord): CallDetail {
  const { timings, rates, request_id, finish_reason, usage } = callView(call, 'owner')
  return {
    ...callSummary(call),
    request_id,
    finish_reason,
    rescued: isRescued(call),
    usage_source: usage.source,
    rates: rates && { ...rates, unit: 'usd_per_million_tokens' },
    audio_tokens: usage.audio_tokens ?? 0,
    image_tokens: usage.image_tokens ?? 0,
    queued_ms: timings.queued_ms,
    finished_at: timings.finished_at,
    settled_at: timings.settled_at,
    provider_key_failures: ownKeyFailures(call, 'owner'),
  }
}
