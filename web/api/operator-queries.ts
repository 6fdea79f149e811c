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
import type { OperatorList, OperatorPage } from '../../src/core/api/shared.ts'
import type { OperatorCallFilters } from '../lib/call-filters.ts'
import { queryString, requestJson } from './request.ts'

/** Every query of the operators' pages; all keys begin with `operator`. */

export const OPERATOR_API = '/admin/api'

const read =
  <T>(path: string) =>
  ({ signal }: { signal: AbortSignal }) =>
    requestJson<T>('GET', `${OPERATOR_API}${path}`, { signal })

/** Values that change every few seconds. */
const MOVING_MS = 2_000
/** Lists and sums that cost more to read, or change less often. */
const CALM_MS = 5_000
const LAZY_MS = 30_000

/** A list read page by page; refetched while only its first page is shown. */
const pagesOf = <T>(key: readonly unknown[], path: string, parameters: Record<string, string | undefined>) =>
  infiniteQueryOptions({
    queryKey: ['operator', ...key],
    queryFn: ({ pageParam, signal }) =>
      read<OperatorPage<T>>(`${path}${queryString({ ...parameters, limit: 30, cursor: pageParam })}`)({
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : CALM_MS),
  })

/** The operator's session; null without one. */
export const operatorSessionQuery = queryOptions({
  queryKey: ['operator', 'session'],
  queryFn: async ({ signal }): Promise<OperatorSession | null> =>
    (await read<OperatorVisitor>('/visitor')({ signal })).session,
  staleTime: 30_000,
})

export const queuesQuery = queryOptions({
  queryKey: ['operator', 'queues'],
  queryFn: read<QueuesView>('/queues'),
  refetchInterval: CALM_MS,
})

export const trafficQuery = (minutes: number) =>
  queryOptions({
    queryKey: ['operator', 'traffic', minutes],
    queryFn: read<TrafficView>(`/traffic${queryString({ minutes, step: minutes > 10 ? 60 : 10 })}`),
    refetchInterval: CALM_MS,
  })

export const providersQuery = queryOptions({
  queryKey: ['operator', 'providers'],
  queryFn: read<OperatorList<ProviderView>>('/providers'),
  refetchInterval: MOVING_MS,
})

export const offersQuery = (of: { provider: string } | { model: string }) =>
  queryOptions({
    queryKey: ['operator', 'offers', of],
    queryFn: read<OperatorList<OfferView>>(`/offers${queryString({ ...of })}`),
    refetchInterval: MOVING_MS,
  })

export const operatorCallsQuery = ({ days = '30', ...filters }: OperatorCallFilters, from: string) =>
  pagesOf<OperatorCall>(['calls', days, filters], '/calls', { ...filters, from })

/** Polled until the call is settled. */
export const timelineQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'timeline', id],
    queryFn: read<CallTimelineView>(`/calls/${encodeURIComponent(id)}/timeline`),
    refetchInterval: ({ state }) => (state.data && state.data.state !== 'settled' ? 1_000 : false),
  })

export const accountsQuery = (search: string | undefined) =>
  pagesOf<OperatorAccount>(['accounts', search ?? ''], '/accounts', { search })

export const accountQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'account', id],
    queryFn: read<OperatorAccountDetail>(`/accounts/${encodeURIComponent(id)}`),
    refetchInterval: CALM_MS,
  })

export const marginQuery = (span: { from: string; to: string }, group: MarginView['group_by']) =>
  queryOptions({
    queryKey: ['operator', 'margin', span, group],
    queryFn: read<MarginView>(`/margin${queryString({ ...span, group_by: group })}`),
    refetchInterval: LAZY_MS,
  })

export const ledgerSumsQuery = queryOptions({
  queryKey: ['operator', 'ledger'],
  queryFn: read<LedgerView>('/ledger'),
  refetchInterval: LAZY_MS,
})

export const auditQuery = queryOptions({
  queryKey: ['operator', 'audit', 'latest'],
  queryFn: read<AuditView>('/audit/latest'),
  refetchInterval: ({ state }) => (state.data?.running ? 1_000 : LAZY_MS),
})

export const auditRunsQuery = pagesOf<AuditRunView>(['audit', 'runs'], '/audit/runs', {})

export const alarmsQuery = (state: 'open' | 'all') =>
  pagesOf<AlarmView>(['alarms', state], '/alarms', { state })

export const actionsQuery = (target: string | undefined) =>
  pagesOf<OperatorActionView>(['actions', target ?? ''], '/actions', { target })

export const catalogQuery = queryOptions({
  queryKey: ['operator', 'catalog'],
  queryFn: read<CatalogView>('/catalog'),
  refetchInterval: LAZY_MS,
})

export const catalogHistoryQuery = queryOptions({
  queryKey: ['operator', 'catalog', 'edits'],
  queryFn: read<OperatorList<CatalogEditsView>>('/catalog/edits?limit=50'),
})

export const rateHistoryQuery = (modelId: string) =>
  queryOptions({
    queryKey: ['operator', 'rates', modelId],
    queryFn: read<OperatorList<RateHistoryView>>(`/models/${encodeURIComponent(modelId)}/history?limit=50`),
  })
