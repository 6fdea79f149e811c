import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { OperatorAccount, OperatorAccountDetail } from '../../src/core/api/accounts.ts'
import type { LedgerView, MarginView } from '../../src/core/api/billing.ts'
import type { CallTimelineView, OperatorCall } from '../../src/core/api/calls.ts'
import type { CatalogEditsView, CatalogView, RateHistoryView } from '../../src/core/api/catalog.ts'
import type { OfferView, ProviderView } from '../../src/core/api/offers.ts'
import type {
  AlarmView,
  AuditRunView,
  AuditView,
  OperatorActionView,
  QueuesView,
  TrafficView,
} from '../../src/core/api/operations.ts'
import type { OperatorSession, OperatorVisitor } from '../../src/core/api/sessions.ts'
import type { List, Page } from '../../src/core/api/shared.ts'
import type { OperatorCallFilters } from '../lib/call-filters.ts'
import { queryString, requestJson } from './request.ts'

/** Every query of the operators' pages; all keys begin with `operator`. */

export const OPERATOR_API = '/admin/api'

/** Values that change every few seconds. */
const MOVING_MS = 2_000
/** Lists and sums that cost more to read, or change less often. */
const CALM_MS = 5_000
const LAZY_MS = 30_000

const read = <T>(path: string, signal: AbortSignal) =>
  requestJson<T>('GET', `${OPERATOR_API}${path}`, { signal })

/** A query of one route. */
const query = <T>(key: readonly unknown[], path: string, refetchInterval: number | false) =>
  queryOptions({
    queryKey: ['operator', ...key],
    queryFn: ({ signal }) => read<T>(path, signal),
    refetchInterval,
  })

/** A list read page by page; refetched while only its first page is shown. */
const pagesOf = <T>(key: readonly unknown[], path: string, parameters: Record<string, string | undefined>) =>
  infiniteQueryOptions({
    queryKey: ['operator', ...key],
    queryFn: ({ pageParam, signal }) =>
      read<Page<T>>(`${path}${queryString({ ...parameters, limit: 30, cursor: pageParam })}`, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : CALM_MS),
  })

/** The operator's session; null without one. */
export const operatorSessionQuery = queryOptions({
  queryKey: ['operator', 'session'],
  queryFn: async ({ signal }): Promise<OperatorSession | null> =>
    (await read<OperatorVisitor>('/visitor', signal)).session,
  staleTime: 30_000,
})

export const queuesQuery = query<QueuesView>(['queues'], '/queues', CALM_MS)

export const trafficQuery = (minutes: number) =>
  query<TrafficView>(
    ['traffic', minutes],
    `/traffic${queryString({ minutes, step: minutes > 10 ? 60 : 10 })}`,
    CALM_MS,
  )

export const providersQuery = query<List<ProviderView>>(['providers'], '/providers', MOVING_MS)

export const offersQuery = (of: { provider: string } | { model: string }) =>
  query<List<OfferView>>(['offers', of], `/offers${queryString({ ...of })}`, MOVING_MS)

export const operatorCallsQuery = ({ days = '30', ...filters }: OperatorCallFilters, from: string) =>
  pagesOf<OperatorCall>(['calls', days, filters], '/calls', { ...filters, from })

/** Polled until the call is settled. */
export const timelineQuery = (id: string) =>
  queryOptions({
    ...query<CallTimelineView>(['timeline', id], `/calls/${encodeURIComponent(id)}/timeline`, false),
    refetchInterval: ({ state }) => (state.data && state.data.state !== 'settled' ? 1_000 : false),
  })

export const accountsQuery = (search: string | undefined) =>
  pagesOf<OperatorAccount>(['accounts', search ?? ''], '/accounts', { search })

export const accountQuery = (id: string) =>
  query<OperatorAccountDetail>(['account', id], `/accounts/${encodeURIComponent(id)}`, CALM_MS)

export const marginQuery = (span: { from: string; to: string }, group: MarginView['group_by']) =>
  query<MarginView>(['margin', span, group], `/margin${queryString({ ...span, group_by: group })}`, LAZY_MS)

export const ledgerSumsQuery = query<LedgerView>(['ledger'], '/ledger', LAZY_MS)

export const auditQuery = queryOptions({
  ...query<AuditView>(['audit', 'latest'], '/audit/latest', LAZY_MS),
  refetchInterval: ({ state }) => (state.data?.running ? 1_000 : LAZY_MS),
})

export const auditRunsQuery = pagesOf<AuditRunView>(['audit', 'runs'], '/audit/runs', {})

export const alarmsQuery = (state: 'open' | 'all') =>
  pagesOf<AlarmView>(['alarms', state], '/alarms', { state })

export const actionsQuery = (target: string | undefined) =>
  pagesOf<OperatorActionView>(['actions', target ?? ''], '/actions', { target })

export const catalogQuery = query<CatalogView>(['catalog'], '/catalog', LAZY_MS)

export const catalogHistoryQuery = query<List<CatalogEditsView>>(
  ['catalog', 'edits'],
  '/catalog/edits?limit=50',
  false,
)

export const rateHistoryQuery = (modelId: string) =>
  query<List<RateHistoryView>>(
    ['rates', modelId],
    `/models/${encodeURIComponent(modelId)}/history?limit=50`,
    false,
  )
