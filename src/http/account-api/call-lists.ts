import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { CallFilter } from '../../billing/call-records/call-filter.ts'
import type { ListedCalls } from '../../billing/call-records/call-list.ts'
import type { RunRead } from '../../billing/call-records/call-lookup.ts'
import type { CallRecord, ListedCall } from '../../billing/call-records/call-record.ts'
import { ARCHIVED_CALL } from '../../billing/call-records/call-records.ts'
import type { Reports } from '../../billing/reports/reports.ts'
import {
  AccountCall,
  CALL_STATUSES,
  CallDetail,
  CallPage,
  Generation,
  GenerationDetail,
} from '../../core/api/calls.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { CALL_PAGE } from '../../core/billing/call-position.ts'
import { TIME_RANGE } from '../../core/billing/usage-query.ts'
import { TIME_ZONE, zonedTimeRange } from '../../core/billing/zoned-time-range.ts'
import { ApiError, type ErrorCode, statusOfCode } from '../../core/kernel/errors.ts'
import { callCreatedAt, callIdOfResponse } from '../../core/kernel/ids.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { OfId } from '../page.ts'
import { askingKey } from '../plugins/authenticate.ts'
import { holdReportSlot, lookupSlots } from '../slots.ts'
import { byReadingKey, bySession, callReader, noStore, type ReportAccess } from './account-access.ts'
import { askedPage, type CallPageQuery, callPage, SearchText } from './call-page.ts'
import { byokFailures, type CallReader, callView, isRescued, ownAttempts } from './call-view.ts'
import { CSV_PAGE, REPORT_FORMAT, reportFormat, streamCallsCsv } from './report-format.ts'
import { routerGeneration } from './router-generation.ts'

/** What a list of calls is asked for besides the period, and its JSON. */
interface CallList {
  access: ReportAccess
  query: object
  response: TSchema
  format(request: FastifyRequest<{ Querystring: unknown }>): 'json' | 'csv'
  filter?(query: ListQuery, accountId: string): Promise<CallFilter>
  jsonOf(page: ListedCalls, view: (call: ListedCall) => Generation): unknown
}

const pageSize = (maximum: number, byDefault: number) => ({
  limit: Type.Integer({ minimum: 1, maximum, default: byDefault }),
})

/** GET /v1/usage/calls: an account's settled calls, newest first, in pages or as one CSV stream. */
export const usageCallsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) =>
    registerList(app, path, {
      access: byReadingKey(app),
      query: { ...REPORT_FORMAT, ...pageSize(CSV_PAGE, 100), cursor: CALL_PAGE.cursor },
      response: Page(Generation),
      format: reportFormat,
      jsonOf(page, view) {
        const { object, data, has_more, next_cursor } = callPage(page, view)
        return { object, data, has_more, next_cursor }
      },
    })

/** GET /v1/generations/{id}: the result and cost of a call of the key's account. Under /v2 also `/generation?id=`, as OpenRouter has it. */
export const generationsRoute =
  (path: string, { isExtended }: Pick<Surface, 'isExtended'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { reports } = app.billing
    const slots = lookupSlots()
    const schema = {
      summary: 'One call: tokens, cost, rates, timings',
      params: OfId,
      response: { 200: GenerationDetail },
    }
    const found = async (request: FastifyRequest, ofResponse: string) => {
      const key = askingKey(request)
      const reader = callReader(key)
      const id = callIdOfResponse(ofResponse)
      const find = settledCall(reports, id, key.accountId, ' Send the `id` of a response.')
      return callDetail(await slots.run(key.accountId ?? key.keyId, find), reader)
    }
    const read = { onRequest: [app.requireKey], onSend: noStore }
    app.get(path, { ...read, schema }, (request) => found(request, request.params.id))
    if (!isExtended) return
    const querystring = Type.Object({ id: Type.String() })
    app.get('/v2/generation', { ...read, schema: { hide: true, querystring } }, async (request) => ({
      data: routerGeneration(await found(request, request.query.id)),
    }))
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
  const { reports } = app.billing
  const access = bySession(app, 'usage')
  const { requester, hooks, slots } = access
  const list = {
    access,
    async filter(query: ListQuery, accountId: string) {
      const { q: text } = query
      const keyIds = text === undefined ? [] : await keys.idsNamed(text, accountId)
      return { ...filterOf(query), ...(text !== undefined && { text: { text, keyIds } }) }
    },
    async jsonOf(page: ListedCalls, view: (call: ListedCall) => Generation) {
      const expiries = await promptLogs.expiries(page.calls.map(({ id }) => id))
      return callPage(page, (call) => withPromptLog(view(call), expiries))
    },
  }
  registerList(app, '/calls', {
    ...list,
    query: { ...FILTERS, ...CALL_PAGE, ...pageSize(200, 50) },
    response: CallPage(AccountCall),
    format: () => 'json',
  })
  registerList(app, '/calls.csv', {
    ...list,
    query: FILTERS,
    response: Type.Unsafe<unknown>({ content: { 'text/csv': { schema: Type.String() } } }),
    format: () => 'csv',
  })

  const lookups = lookupSlots()
  const schema = { params: OfId, response: { 200: CallDetail } }
  app.get('/calls/:id', { ...hooks, schema }, async (request) => {
    const { accountId, holder } = requester(request)
    // Waiting for a running call does not occupy a report slot; only its reads do.
    const find = settledCall(reports, request.params.id, accountId, '', (read) => slots.run(holder, read))
    const call = await lookups.run(holder, find)
    const view: CallDetail = {
      ...callDetail(call, 'owner'),
      error_status: errorStatus(call),
      attempts: ownAttempts(call),
    }
    return withPromptLog(view, await promptLogs.expiries([call.id]))
  })
}

/** A stream that had begun was a 200, and ended with the error in its last chunk. */
function errorStatus({ errorCode, status, stream }: ListedCall): number | null {
  if (errorCode === null) return null
  return stream && status === 'interrupted' ? 200 : statusOfCode(errorCode as ErrorCode)
}

type ListQuery = Partial<
  Record<'q' | 'model' | 'key_id' | 'member_id' | 'status' | 'time_zone', string> &
    CallPageQuery & { limit: number }
>

function registerList(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  path: string,
  { access, query: parameters, response, format, filter, jsonOf }: CallList,
): void {
  const { clock } = app.accounts
  const { reports } = app.billing
  const { hooks, requester, slots } = access
  const schema = {
    summary: "An account's settled calls, newest first, in pages or as one CSV stream",
    querystring: Type.Object(
      {
        ...TIME_RANGE,
        ...(parameters as Record<never, TSchema>),
        ...(access.query as Record<never, TSchema>),
      },
      CLOSED,
    ),
    response: { 200: response },
  }
  app.get(path, { ...hooks, schema }, async (request, reply) => {
    const { accountId, holder, reader } = requester(request)
    const query = request.query as ListQuery
    const range = zonedTimeRange(request.query, clock())
    const asked = { ...askedPage(query), ...(filter && { filter: await filter(query, accountId) }) }
    const readPage = holdReportSlot(reply.raw, slots.take(holder), (position, limit) =>
      reports.calls.list({ ...asked, accountId, range, position, limit }),
    )
    const { position = null } = asked
    return format(request) === 'csv'
      ? streamCallsCsv(await readPage(position, CSV_PAGE), readPage, reply, reader)
      : jsonOf(await readPage(position, query.limit ?? CSV_PAGE), (call) => callView(call, reader))
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

const callDetail = (call: CallRecord, reader: CallReader): GenerationDetail => ({
  ...callView(call, reader),
  rescued: isRescued(call),
  provider_key_failures: byokFailures(call, reader),
})
