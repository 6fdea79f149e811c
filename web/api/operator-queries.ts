import { queryOptions } from '@tanstack/react-query'
import type { AccountLedgerRow } from '../../src/core/api/account-ledger.ts'
import type {
  AccountBilling,
  ListedAccount,
  OperatorAccountDetail,
  SentMailView,
} from '../../src/core/api/accounts.ts'
import type { AlarmDestinationView } from '../../src/core/api/alarm-destinations.ts'
import type { GatewayHoursView, LedgerView, MarginView } from '../../src/core/api/billing.ts'
import type { CallPage, CallTimelineView, OperatorCall } from '../../src/core/api/calls.ts'
import type { CatalogEditsView, CatalogView, RateHistoryView } from '../../src/core/api/catalog.ts'
import type { OfferView, ProviderHourView, ProviderView } from '../../src/core/api/offers.ts'
import type {
  AlarmCountView,
  AlarmView,
  AuditRunView,
  AuditView,
  OperatorActionView,
  QueuesView,
  TrafficView,
} from '../../src/core/api/operations.ts'
import type { OperatorDetail } from '../../src/core/api/operators.ts'
import type { OperatorRefusalsView } from '../../src/core/api/refusals.ts'
import type { RouterView } from '../../src/core/api/router.ts'
import type { OperatorSession, OperatorVisitor } from '../../src/core/api/sessions.ts'
import type { List, Page } from '../../src/core/api/shared.ts'
import { BASE_PATH } from '../lib/base-path.ts'
import type { callPeriod, OperatorCallFilters } from '../lib/calls/call-filters.ts'
import type { placeQuery } from '../lib/calls/call-order.ts'
import { PAGE_ROWS } from '../lib/rows-of-page.ts'
import { pagesOf, readOf } from './read.ts'
import { path, queryString, requestJson } from './request.ts'

/** Every read of the operators' pages. */

const CALM_MS = 5_000
/** Lists and sums that cost more to read, or change less often. */
const SLOW_MS = 10_000
const LAZY_MS = 30_000

/** A list that refetches itself. */
const listOf = <T>(route: string, parameters: Record<string, string | undefined> = {}) =>
  pagesOf<T>(route, { ...parameters, limit: 30 }, CALM_MS)

/** How operators sign in here. */
export const operatorVisitorQuery = queryOptions({
  queryKey: ['/admin/api/visitor', 'ways'],
  queryFn: ({ signal }) => requestJson<OperatorVisitor>('GET', '/admin/api/visitor', undefined, signal),
  staleTime: 30_000,
})

/** The operator's session; null without one. */
export const operatorSessionQuery = queryOptions({
  queryKey: ['/admin/api/visitor'],
  queryFn: async ({ signal }): Promise<OperatorSession | null> =>
    (await requestJson<OperatorVisitor>('GET', '/admin/api/visitor', undefined, signal)).session,
  staleTime: 30_000,
})

export const queuesQuery = readOf<QueuesView>('/admin/api/queues', CALM_MS)

export const trafficQuery = (minutes: number) =>
  readOf<TrafficView>(`/admin/api/traffic${queryString({ minutes, step: minutes > 10 ? 60 : 10 })}`, CALM_MS)

export const providersQuery = readOf<List<ProviderView>>('/admin/api/providers', SLOW_MS)

export const providerHoursQuery = (id: string, hours: string) =>
  readOf<List<ProviderHourView>>(
    `${path`/admin/api/providers/${id}/hours`}${queryString({ hours })}`,
    LAZY_MS,
  )

export const offersQuery = (of: { provider: string } | { model: string }) =>
  readOf<List<OfferView>>(`/admin/api/offers${queryString({ ...of })}`, SLOW_MS)

/** One page; only the first is read again and again. `place`: with the period, the order and the page. */
export const operatorCallsQuery = (
  { days: _, ...filters }: OperatorCallFilters,
  place: ReturnType<typeof placeQuery> & ReturnType<typeof callPeriod>,
) =>
  readOf<CallPage<OperatorCall>>(
    `/admin/api/calls${queryString({ ...filters, ...place, limit: PAGE_ROWS })}`,
    place.cursor === undefined && place.at === undefined ? CALM_MS : false,
  )

/** Polled until the call is settled. */
export const timelineQuery = (id: string) =>
  queryOptions({
    ...readOf<CallTimelineView>(path`/admin/api/calls/${id}/timeline`),
    refetchInterval: ({ state }) => (state.data && state.data.state !== 'settled' ? 1_000 : false),
  })

export const accountsQuery = (search: string | undefined) =>
  listOf<ListedAccount>('/admin/api/accounts', { search })

/** The latest calls of an account. */
export const accountCallsQuery = (account: string, from: string) =>
  readOf<Page<OperatorCall>>(`/admin/api/calls${queryString({ account, from, limit: 10 })}`, CALM_MS)

const FAILURES_MAX = 20

export const accountFailuresQuery = (account: string, from: string) =>
  readOf<Page<OperatorCall>>(
    `/admin/api/calls${queryString({ account, from, status: 'failed', limit: FAILURES_MAX })}`,
    CALM_MS,
  )

export const accountMailsQuery = (id: string) => listOf<SentMailView>(path`/admin/api/accounts/${id}/mails`)

export const refusalsQuery = (filter: { account: string | undefined; from: string }) =>
  readOf<OperatorRefusalsView>(`/admin/api/refusals${queryString(filter)}`, LAZY_MS)

export const accountBillingQuery = (id: string) =>
  readOf<AccountBilling>(path`/admin/api/accounts/${id}/billing`)

/** Where an invoice of any account is downloaded, for a link. */
export const operatorInvoicePath = (id: string): string =>
  `${BASE_PATH}${path`/admin/api/invoices/${id}/pdf`}`

export const accountQuery = (id: string) =>
  readOf<OperatorAccountDetail>(path`/admin/api/accounts/${id}`, CALM_MS)

export const accountLedgerQuery = (id: string, filter: Record<string, string>) =>
  listOf<AccountLedgerRow>(path`/admin/api/accounts/${id}/ledger`, filter)

export const ledgerCsvPath = (id: string, filter: Record<string, string>): string =>
  BASE_PATH + path`/admin/api/accounts/${id}/ledger.csv` + queryString(filter)

export const marginQuery = (span: { from: string; to: string }, group: MarginView['group_by']) =>
  readOf<MarginView>(`/admin/api/margin${queryString({ ...span, group_by: group })}`, LAZY_MS)

export const hoursQuery = readOf<GatewayHoursView>('/admin/api/hours', LAZY_MS)

export const routerQuery = readOf<RouterView>('/admin/api/router', LAZY_MS)

export const ledgerSumsQuery = readOf<LedgerView>('/admin/api/ledger', LAZY_MS)

export const auditQuery = queryOptions({
  ...readOf<AuditView>('/admin/api/audit/latest'),
  refetchInterval: ({ state }) => (state.data?.running ? 1_000 : LAZY_MS),
})

export const auditRunsQuery = listOf<AuditRunView>('/admin/api/audit/runs')

export const alarmsQuery = (state: 'open' | 'all', account?: string) =>
  listOf<AlarmView>('/admin/api/alarms', { state, account })

export const openAlarmsQuery = readOf<AlarmCountView>('/admin/api/alarms/count', CALM_MS)

export const alarmDestinationsQuery = readOf<List<AlarmDestinationView>>(
  '/admin/api/alarm-destinations',
  CALM_MS,
)

export const operatorsQuery = readOf<List<OperatorDetail>>('/admin/api/operators', LAZY_MS)

export const actionsQuery = (target: string | undefined) =>
  listOf<OperatorActionView>('/admin/api/actions', { target })

export const catalogQuery = readOf<CatalogView>('/admin/api/catalog', LAZY_MS)

export const catalogHistoryQuery = readOf<List<CatalogEditsView>>('/admin/api/catalog/edits?limit=50')

export const rateHistoryQuery = (modelId: string) =>
  readOf<List<RateHistoryView>>(`${path`/admin/api/models/${modelId}/history`}?limit=50`)
