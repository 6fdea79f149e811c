import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { ListedCall } from '../../billing/call-records/call-record.ts'
import type { CallSession } from '../../billing/call-records/call-sessions.ts'
import { CallSessionDetail, CallSessionList, CallSessionView } from '../../core/api/call-sessions.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { DAY_MS, isoTime } from '../../core/kernel/time.ts'
import { bySession } from '../account-api/account-access.ts'
import { callView } from '../account-api/call-view.ts'

/** How far back sessions are listed. */
const RECENT_MS = 90 * DAY_MS
const SESSION_CHARS_MAX = 100

/** The sessions of an account: calls that named the same conversation. */
export const callSessionRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { clock } = app.accounts
  const { reports } = app.billing
  const { hooks, requester, slots } = bySession(app, 'usage')

  const listing = { response: { 200: CallSessionList } }
  app.get('/call-sessions', { ...hooks, schema: listing }, async (request) => {
    const { accountId, holder } = requester(request)
    const read = () => reports.calls.recentSessions(accountId, clock() - RECENT_MS)
    return { object: 'list' as const, data: (await slots.run(holder, read)).map(sessionView) }
  })

  const reading = {
    querystring: Type.Object({ id: Type.String({ minLength: 1, maxLength: SESSION_CHARS_MAX }) }, CLOSED),
    response: { 200: CallSessionDetail },
  }
  app.get('/call-sessions/calls', { ...hooks, schema: reading }, async (request) => {
    const { accountId, holder } = requester(request)
    const { id } = request.query
    const calls = await slots.run(holder, () => reports.calls.ofSession(accountId, id))
    if (calls.length === 0)
      throw new ApiError('not_found', 'No settled call of this account named this session.')
    return {
      ...sessionView(sumOf(id, calls)),
      data: calls.map((call) => callView(call, 'owner')),
    }
  })
}

function sumOf(session: string, calls: readonly ListedCall[]): CallSession {
  const sum = (of: (call: ListedCall) => number) => calls.reduce((total, call) => total + of(call), 0)
  return {
    session,
    calls: calls.length,
    failedCalls: sum(({ status }) => Number(status === 'failed')),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    costPico: calls.reduce((total, { chargePico }) => total + chargePico, 0n),
    firstAt: Math.min(...calls.map(({ admittedAt }) => admittedAt)),
    lastAt: Math.max(...calls.map(({ finishedAt }) => finishedAt)),
  }
}

const sessionView = (sums: CallSession): CallSessionView =>
  jsonView(CallSessionView, {
    ...sums,
    id: sums.session,
    firstAt: isoTime(sums.firstAt),
    lastAt: isoTime(sums.lastAt),
  })
