import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { BillingView, LedgerRow, TopUpView } from '../../src/core/api/billing.ts'
import type { CallDetail, CallSummary } from '../../src/core/api/calls.ts'
import type { KeyList } from '../../src/core/api/keys.ts'
import type { ProviderKeyList } from '../../src/core/api/provider-keys.ts'
import type { SessionView, VisitorView } from '../../src/core/api/sessions.ts'
import type { Page } from '../../src/core/api/shared.ts'
import type { UsageView } from '../../src/core/api/usage.ts'
import type { DeliveryView, WebhookList } from '../../src/core/api/webhooks.ts'
import type { PricingFeed } from '../../src/core/catalog/pricing-feed-view.ts'
import { type QueryParameters, queryString, RequestFailure, requestJson } from './request.ts'

/** Every query of the account's pages; a change makes stale what has the same first part of the key. */

const CONSOLE_API = '/console/api'

/** Reads a route of the console's API. */
const read =
  <T>(path: string) =>
  ({ signal }: { signal: AbortSignal }) =>
    requestJson<T>('GET', `${CONSOLE_API}${path}`, { signal })

/** A query of one route. */
const query = <T>(queryKey: readonly unknown[], path: string) =>
  queryOptions({ queryKey, queryFn: read<T>(path) })

/** A list read page by page. */
const pagesOf = <T>(queryKey: readonly unknown[], path: string, parameters: QueryParameters = {}) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      read<Page<T>>(`${path}${queryString({ ...parameters, cursor: pageParam })}`)({ signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })

/** The session of this browser; null without one. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (context): Promise<SessionView | null> =>
    (await read<VisitorView>('/visitor')(context)).session,
  staleTime: 30_000,
})

export const pricingQuery = queryOptions({
  queryKey: ['pricing'],
  queryFn: ({ signal }) => requestJson<PricingFeed>('GET', '/pricing.json', { signal }),
  staleTime: 60_000,
})

export const keysQuery = query<KeyList>(['keys'], '/keys')

export const billingQuery = query<BillingView>(['billing'], '/billing')

export const topUpsQuery = pagesOf<TopUpView>(['top-ups'], '/top-ups')

export const topUpQuery = (id: string) =>
  query<TopUpView>(['top-ups', id], `/top-ups/${encodeURIComponent(id)}`)

export const ledgerQuery = pagesOf<LedgerRow>(['ledger'], '/ledger')

export const usageQuery = (span: { from: string; to: string }, group: UsageView['group_by']) =>
  query<UsageView>(['usage', group, span], `/usage${queryString({ ...span, group_by: group })}`)

export interface CallFilters {
  from?: string
  to?: string
  model?: string
  key_id?: string
  status?: string
}

/** Where the calls that pass the filters are downloaded as CSV. */
export const callsCsvPath = (filters: CallFilters): string =>
  `${CONSOLE_API}/calls.csv${queryString({ ...filters })}`

export const callsQuery = (filters: CallFilters, limit: number) =>
  pagesOf<CallSummary>(['calls', filters, limit], '/calls', { ...filters, limit })

/** A call is settled about a second after its end; until then the gateway responds with 404. */
const SETTLING_TRIES = 15
const SETTLING_WAIT_MS = 700

export const callQuery = (id: string) =>
  queryOptions({
    queryKey: ['calls', 'one', id],
    queryFn: read<CallDetail>(`/calls/${encodeURIComponent(id)}`),
    retry: (tries, error) =>
      tries < SETTLING_TRIES && error instanceof RequestFailure && error.status === 404,
    retryDelay: SETTLING_WAIT_MS,
    // A settled call never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })

export const providerKeysQuery = query<ProviderKeyList>(['provider-keys'], '/provider-keys')

export const webhooksQuery = query<WebhookList>(['webhooks'], '/webhooks')

export const deliveriesQuery = (id: string) =>
  query<{ data: DeliveryView[] }>(['deliveries', id], `/webhooks/${encodeURIComponent(id)}/deliveries`)
