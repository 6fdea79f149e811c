import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { CallFilter } from '../../billing/call-records/call-filter.ts'
import type { CallQuery, ListedCalls } from '../../billing/call-records/call-list.ts'
import type { RunRead } from '../../billing/call-records/call-lookup.ts'
import type { CallRecord, ListedCall } from '../../billing/call-records/call-record.ts'
import { ARCHIVED_CALL } from '../../billing/call-records/call-records.ts'
import type { Reports } from '../../billing/reports/reports.ts'
import type { PromptLogStore } from '../../calls/prompt-logs/prompt-log-store.ts'
import {
  CALL_STATUSES,
  CallDetail,
  CallPage,
  CallSummary,
  Generation,
  GenerationDetail,
} from '../../core/api/calls.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { CALL_PAGE, type CallPosition } from '../../core/billing/call-position.ts'
import {
  type CallCursor,
  Cursor,
  formatCursor,
  parseCursor,
  TIME_RANGE,
} from '../../core/billing/usage-query.ts'
import { TIME_ZONE, zonedTimeRange } from '../../core/billing/zoned-time-range.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callCreatedAt, callIdOfResponse } from '../../core/kernel/ids.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { OfId } from '../page.ts'
import { askingKey } from '../plugins/authenticate.ts'
import { holdReportSlot, lookupSlots, reportSlots, type Slots } from '../slots.ts'
import {
  ACCOUNT_ID,
  type AccountAccess,
  byReadingKey,
  bySession,
  callReader,
  noStore,
} from './account-access.ts'
import { askedPage, type CallPageQuery, callPage, SearchText } from './call-page.ts'
import { byokFailures, type CallReader, callView, isRescued } from './call-view.ts'
import { CSV_PAGE, REPORT_FORMAT, reportFormat, streamCallsCsv } from './report-format.ts'

/** A group of readers of calls, with their parameters and JSON. */
interface Audience extends AccountAccess {
  slots: Slots
  query: object
  response: TSchema
  /** What the parameters ask for besides the period. */
  asked(query: ListQuery, accountId: string): AskedPage | Promise<AskedPage>
  pageOf(page: ListedCalls, view: (call: ListedCall) => unknown): unknown
  viewOf(call: ListedCall, reader: CallReader): unknown
  /** When the prompt logs of some calls expire; absent: not shown. */
  promptLogExpiries?: PromptLogStore['expiries']
  format(request: FastifyRequest<{ Querystring: unknown }>): 'json' | 'csv'
}

type AskedPage = Omit<CallQuery, 'accountId' | 'range' | 'limit'>

const pageSize = (maximum: number, byDefault: number) => ({
  limit: Type.Integer({ minimum: 1, maximum, default: byDefault }),
})
const cursor = { cursor: Type.Optional(Cursor) }

/** GET /v1/usage/calls: an account's settled calls, newest first, in pages or as one CSV stream. */
export const usageCallsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) =>
    registerList(app, path, {
      ...byReadingKey(app),
      slots: reportSlots(),
      query: { ...REPORT_FORMAT, ...pageSize(CSV_PAGE, 100), ...cursor, ...ACCOUNT_ID },
      response: Page(Generation),
      asked: ({ cursor }) => ({ position: cursor === undefined ? null : positionOf(parseCursor(cursor)) }),
      pageOf: ({ calls, next }, view) => ({
        object: 'list',
        data: calls.map(view),
        has_more: next !== null,
        next_cursor: next && formatCursor({ admittedAtMs: Number(next.value), callId: next.id }),
      }),
      viewOf: callView,
      format: reportFormat,
    })

const positionOf = (after: CallCursor | null): CallPosition | null =>
  after && { isEnd: false, value: BigInt(after.admittedAtMs), id: after.callId }

/** GET /v1/generations/{id}: the result and cost of a call of the key's account. */
export const generationsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { reports } = app.billing
    const slots = lookupSlots()
    const schema = {
      summary: 'One call: tokens, cost, rates, timings',
      params: OfId,
      response: { 200: GenerationDetail },
    }
    app.get(path, { onRequest: [app.requireKey], onSend: noStore, schema }, async (request) => {
      const key = askingKey(request)
      const reader = callReader(key)
      const id = callIdOfResponse(request.params.id)
      const find = settledCall(reports, id, key.accountId, ' Send the `id` of a response.')
      const call = await slots.run(key.accountId ?? key.keyId, find)
      return {
        ...callView(call, reader),
        rescued: isRescued(call),
        provider_key_failures: byokFailures(call, reader),
      }
    })
  }

const FILTERS = {
  ...TIME_ZONE,
  q: SearchText,
  model: Type.Optional(Type.String()),
  key_id: Type.Optional(Type.String()),
  /** The creator of the key. */
  member_id: Type.Optional(Type.String()),
  status: Type.Enum([...CALL_STATUSES, 'any'], { default: 'any' }),
}

/** GET /console/api/calls, its CSV export and single calls, for the session's account. */
export const consoleCallRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { promptLogStore: promptLogs } = app.calls
  const { keys } = app.accounts
  const { consoleSlots: slots } = app.billing
  const ofAccount = {
    ...bySession(app, 'usage'),
    slots,
    viewOf: callSummary,
    pageOf: callPage,
    async asked(query: ListQuery, accountId: string): Promise<AskedPage> {
      const { q: text } = query
      const keyIds = text === undefined ? [] : await keys.idsNamed(text, accountId)
      return {
        ...askedPage(query),
        filter: { ...filterOf(query), ...(text !== undefined && { text: { text, keyIds } }) },
      }
    },
  }
  registerList(app, '/calls', {
    ...ofAccount,
    query: { ...FILTERS, ...CALL_PAGE, ...pageSize(200, 50) },
    response: CallPage(CallSummary),
    promptLogExpiries: promptLogs.expiries,
    format: () => 'json',
  })
  registerList(app, '/calls.csv', {
    ...ofAccount,
    query: FILTERS,
    response: Type.Unsafe<unknown>({ content: { 'text/csv': { schema: Type.String() } } }),
    format: () => 'csv',
  })

  const { requester, hooks } = ofAccount
  const lookups = lookupSlots()
  const schema = { params: OfId, response: { 200: CallDetail } }
  app.get('/calls/:id', { ...hooks, schema }, async (request) => {
    const { accountId, holder } = requester(request)
    // Waiting for a running call does not occupy a report slot; only its reads do.
    const find = settledCall(app.billing.reports, request.params.id, accountId, '', (read) =>
      slots.run(holder, read),
    )
    const call = await lookups.run(holder, find)
    return withPromptLog(callDetail(call), await promptLogs.expiries([call.id]))
  })
}

type ListQuery = Partial<
  Record<'cursor' | 'at' | 'q' | 'model' | 'key_id' | 'member_id' | 'status' | 'time_zone', string> &
    CallPageQuery & { limit: number }
>

function registerList(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  path: string,
  { requester, hooks, slots, viewOf, ...audience }: Audience,
): void {
  const { clock } = app.accounts
  const { reports } = app.billing
  const schema = {
    summary: "An account's settled calls, newest first, in pages or as one CSV stream",
    querystring: Type.Object({ ...TIME_RANGE, ...(audience.query as Record<never, TSchema>) }, CLOSED),
    response: { 200: audience.response },
  }
  app.get(path, { ...hooks, schema }, async (request, reply) => {
    const { accountId, holder, reader } = requester(request)
    const query = request.query as ListQuery
    const { limit = CSV_PAGE } = query
    const range = zonedTimeRange(request.query, clock())
    const asked = await audience.asked(query, accountId)
    const format = audience.format(request)
    const readPage = holdReportSlot(reply.raw, slots.take(holder), (position, size) =>
      reports.calls.list({ ...asked, accountId, range, position, limit: size }),
    )
    const { position = null } = asked
    if (format === 'csv') return streamCallsCsv(await readPage(position, CSV_PAGE), readPage, reply, reader)
    const page = await readPage(position, limit)
    const expiries = await audience.promptLogExpiries?.(page.calls.map(({ id }) => id))
    return audience.pageOf(page, (call) => withPromptLog(viewOf(call, reader) as { id: string }, expiries))
  })
}

const filterOf = ({ model, key_id: keyId, member_id: memberId, status = 'any' }: ListQuery): CallFilter => ({
  ...(model !== undefined && { model }),
  ...(keyId !== undefined && { keyId }),
  ...(memberId !== undefined && { memberId }),
  ...(status !== 'any' && { status: status as CallRecord['status'] }),
})

/** Finds a settled call of an account, or of any for null. Throws ApiError 404, also while it is not settled. */
export function settledCall(
  reports: Pick<Reports, 'findCall' | 'calls'>,
  id: string,
  accountId: string | null,
  hint = '',
  inSlot?: RunRead,
): () => Promise<CallRecord> {
  const unknown = new ApiError('not_found', `This account has no call with this id.${hint}`)
  if (callCreatedAt(id) === null) throw unknown
  return async () => {
    const found = await reports.findCall(id, accountId, inSlot)
    switch (found.kind) {
      case 'settled':
        return found.call
      case 'unsettled':
        throw new ApiError('not_found', 'This call is not settled yet. Retry shortly.', {
          retryAfterSeconds: 1,
          shouldRetry: true,
        })
      case 'unknown':
        throw (await reports.calls.isArchived(id)) ? new ApiError('not_found', ARCHIVED_CALL) : unknown
      default:
        return found satisfies never
    }
  }
}

/** Adds the expiry of a call's prompt log, if it has one. */
function withPromptLog<Call extends { id: string }>(call: Call, expiries?: ReadonlyMap<string, Date>): Call {
  const expiresAt = expiries?.get(call.id)
  return expiresAt ? { ...call, prompt_log_until: isoTime(expiresAt) } : call
}

/** The summary of a settled call for its owner. */
export function callSummary(call: ListedCall): CallSummary {
  const { timings, usage, ...view } = callView(call, 'owner')
  return {
    id: view.id,
    created_at: timings.admitted_at,
    model: view.model,
    key_id: view.key_id,
    status: view.status,
    error_code: view.error_code,
    stream: view.stream,
    byok: view.byok,
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    units: usage.units ?? 0,
    unit: usage.unit ?? null,
    cost_usd: view.cost_usd,
    first_token_ms: timings.first_token_ms,
    duration_ms: timings.duration_ms,
    labels: view.labels ?? null,
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
    rates,
    audio_tokens: usage.audio_tokens ?? 0,
    image_tokens: usage.image_tokens ?? 0,
    cached_tokens: usage.cached_tokens ?? 0,
    cache_write_tokens: usage.cache_write_tokens ?? 0,
    cache_write_hour_tokens: usage.cache_write_hour_tokens ?? 0,
    web_searches: usage.web_searches ?? 0,
    code_executions: usage.code_executions ?? 0,
    queued_ms: timings.queued_ms,
    finished_at: timings.finished_at,
    settled_at: timings.settled_at,
    provider_key_failures: byokFailures(call, 'owner'),
  }
}
