import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { CallFilter } from '../../billing/call-records/call-filter.ts'
import type { CallQuery } from '../../billing/call-records/call-list.ts'
import { ARCHIVED_CALL } from '../../billing/call-records/call-records.ts'
import { findCallInFlight } from '../../billing/call-records/find-call-in-flight.ts'
import { operatorCall, settledTimeline } from '../../billing/call-records/operator-call.ts'
import {
  CALL_STATUSES,
  type CallOwner,
  CallPage,
  CallTimelineView,
  OperatorCall,
} from '../../core/api/calls.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { CALL_PAGE } from '../../core/billing/call-position.ts'
import { TIME_RANGE, timeRange } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callCreatedAt, callIdOfResponse } from '../../core/kernel/ids.ts'
import { DAY_MS, isoTime } from '../../core/kernel/time.ts'
import { askedPage, callPage, SearchText } from '../account-api/call-page.ts'
import { OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'
import { reportSlots } from '../slots.ts'

const ListQuery = Type.Object(
  {
    q: SearchText,
    /** An id, an email, an organisation's name or a part of one of these. */
    account: Type.Optional(Type.String()),
    /** An id or a part of a name. */
    key: Type.Optional(Type.String()),
    request: Type.Optional(Type.String()),
    status: Type.Optional(Type.Enum([...CALL_STATUSES])),
    model: Type.Optional(Type.String()),
    offer: Type.Optional(Type.String()),
    min_duration_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: DAY_MS })),
    ...TIME_RANGE,
    ...CALL_PAGE,
    limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  },
  CLOSED,
)
const SEARCHES_MAX = 4
/** Maximum accounts that a part of a name may match. */
const ACCOUNTS_MAX = 1_000

/** GET /calls: a search over settled calls of all accounts; GET /calls/:id/timeline: one call, also while it runs. */
export const callRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { promptLogStore: promptLogs } = app.calls
  const { keys } = app.accounts
  const { calls } = app.billing
  const { directory, queues, hostClock: clock } = app.operators
  const slots = reportSlots(SEARCHES_MAX, SEARCHES_MAX)
  const accountsNamed = async (text: string): Promise<string[]> =>
    (await directory.page({ search: text, after: null, limit: ACCOUNTS_MAX })).map(({ id }) => id)

  /** The account of an id or an email, or else all whose email or name has the text. Throws ApiError `not_found`. */
  const readAccount = async (text: string | undefined): Promise<Pick<CallQuery, 'accountId' | 'filter'>> => {
    if (text === undefined) return { accountId: null }
    const account = await directory.find(text)
    if (account) return { accountId: account.id }
    const [only, ...more] = await accountsNamed(text)
    if (only === undefined) throw new ApiError('not_found', 'There is no such account.')
    return more.length === 0
      ? { accountId: only }
      : { accountId: null, filter: { accountIds: [only, ...more] } }
  }
  const readKey = async (text: string | undefined): Promise<CallFilter> => {
    if (text === undefined) return {}
    const [only, ...more] = text.startsWith('key_') ? [text] : await keys.idsNamed(text, null)
    return only !== undefined && more.length === 0
      ? { keyId: only }
      : { keyIds: only === undefined ? [] : [only, ...more] }
  }
  const readText = async (text: string | undefined): Promise<CallFilter> => {
    // The id of a call needs no names.
    if (text === undefined || callCreatedAt(callIdOfResponse(text)) !== null)
      return text === undefined ? {} : { text: { text, keyIds: [] } }
    const [keyIds, accountIds] = await Promise.all([keys.idsNamed(text, null), accountsNamed(text)])
    return { text: { text, keyIds, ofOperator: { accountIds } } }
  }

  /** The names of the owners of some calls. */
  const ownersOf = async (owned: ReadonlyArray<{ account_id: string | null; key_id: string | null }>) => {
    const idsOf = (name: 'account_id' | 'key_id') => [...new Set(owned.flatMap((call) => call[name] ?? []))]
    const [accountNames, keyNames] = await Promise.all([
      directory.names(idsOf('account_id')),
      keys.names(idsOf('key_id')),
    ])
    return <Call extends (typeof owned)[number]>(call: Call): Call & CallOwner => ({
      ...call,
      account_name: accountNames.get(call.account_id ?? '') ?? null,
      key_name: keyNames.get(call.key_id ?? '') ?? null,
    })
  }

  app.get(
    '/calls',
    operatorRoute('read', CallPage(OperatorCall), { querystring: ListQuery }),
    async (request) => {
      const { query } = request
      return slots.run(askingOperator(request).actor, async () => {
        const { accountId, filter } = await readAccount(query.account)
        const page = await calls.list({
          ...askedPage(query),
          accountId,
          range: timeRange(query, clock()),
          filter: {
            ...filter,
            ...filterOf(query),
            ...(await readKey(query.key)),
            ...(await readText(query.q)),
          },
          limit: query.limit,
        })
        const view = callPage(page, operatorCall)
        return { ...view, data: view.data.map(await ownersOf(view.data)) }
      })
    },
  )

  const timeline = operatorRoute('read', CallTimelineView, { params: OfId })
  app.get('/calls/:id/timeline', timeline, async ({ params: { id } }) => {
    if (callCreatedAt(id) === null) throw unknownCall()
    const find = async () => {
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
    const named = (await ownersOf([found]))(found)
    return named.state === 'settled' && until ? { ...named, prompt_log_until: isoTime(until) } : named
  })
}

const filterOf = (query: Static<typeof ListQuery>): CallFilter => ({
  requestId: query.request ?? null,
  status: query.status ?? null,
  anyModel: query.model ?? null,
  offerId: query.offer ?? null,
  minDurationMs: query.min_duration_ms ?? null,
})

const unknownCall = (): ApiError =>
  new ApiError('not_found', 'Call not found. Rejected requests have no record.')
