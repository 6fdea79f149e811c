import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { CallFilter, CallRecord, ListedCall } from '../../billing/call-records/call-records.ts'
import type { CallDetail, CallSummary } from '../../core/api/calls.ts'
import type { Page } from '../../core/api/shared.ts'
import type { UsageView } from '../../core/api/usage.ts'
import {
  formatCursor,
  type QueryParameters,
  readChoice,
  readCount,
  readCursor,
  readText,
  readTimeRange,
  refuseUnknown,
  USAGE_GROUPS,
} from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import { callView, isRescued, ownKeyFailures } from '../call-view.ts'
import { CSV_PAGE, cursorOf, type ReadPage, streamCallsCsv } from '../calls-csv.ts'
import { holdReportSlot } from '../hold-report-slot.ts'
import { signedIn } from '../plugins/session.ts'
import { sumUsage, usageView } from '../public/usage.ts'
import type { ConsoleDependencies } from './console-routes.ts'

const PAGE_DEFAULT = 50
const PAGE_MAX = 200
const STATUSES = ['completed', 'failed', 'cancelled', 'interrupted'] as const
const FILTERS = ['from', 'to', 'model', 'key_id', 'status']

/** What the account's calls used and cost: sums, the list of them, one of them. Never where one went. */
export const usageRoutes: FastifyPluginAsync<ConsoleDependencies> = async (app, deps) => {
  const { reports, clock, consoleSlots } = deps
  const ofSession = { onRequest: [app.requireSession] }

  /** How an account's pages of calls are read, as the query filters them. */
  const pagesOf = (request: FastifyRequest): ReadPage => {
    const { account } = signedIn(request)
    const query = request.query as QueryParameters
    const range = readTimeRange(query, clock())
    const filter = readFilter(query)
    return (after, size) => reports.calls.page(account.id, range, after, size, filter)
  }

  app.get('/usage', ofSession, async (request): Promise<UsageView> => {
    const { account } = signedIn(request)
    const query = request.query as QueryParameters
    refuseUnknown(query, ['from', 'to', 'group_by'])
    const range = readTimeRange(query, clock())
    const group = readChoice(query, 'group_by', USAGE_GROUPS, 'day')
    return consoleSlots.run(account.id, async () => {
      return usageView(await sumUsage(reports, account.id, range, group), range, group)
    })
  })

  app.get('/calls', ofSession, async (request): Promise<Page<CallSummary>> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, [...FILTERS, 'cursor', 'limit'])
    const limit = readCount(query, 'limit', PAGE_DEFAULT, PAGE_MAX)
    const cursor = readCursor(query)
    const readPage = pagesOf(request)
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

  app.get('/calls.csv', ofSession, async (request, reply) => {
    refuseUnknown(request.query as QueryParameters, FILTERS)
    const giveBack = consoleSlots.take(signedIn(request).account.id)
    const readPage = holdReportSlot(reply.raw, giveBack, pagesOf(request))
    return streamCallsCsv(await readPage(null, CSV_PAGE), readPage, reply, 'owner')
  })

  app.get<{ Params: { id: string } }>('/calls/:id', ofSession, async (request): Promise<CallDetail> => {
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

function readFilter(query: QueryParameters): CallFilter {
  const [model, keyId] = [readText(query, 'model'), readText(query, 'key_id')]
  const status = readChoice(query, 'status', [...STATUSES, 'any'], 'any')
  return {
    ...(model !== null && { model }),
    ...(keyId !== null && { keyId }),
    ...(status !== 'any' && { status }),
  }
}

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
