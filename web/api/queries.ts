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
import { queryString, RequestFailure, requestJson } from './request.ts'

/** Everything the pages read, one definition each; the first part of a key is what a change makes stale. */

/** Who is signed in; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<SessionView | null> =>
    (await requestJson<VisitorView>('GET', '/console/api/visitor', { signal })).session,
  staleTime: 30_000,
})

export const pricingQuery = queryOptions({
  queryKey: ['pricing'],
  queryFn: ({ signal }) => requestJson<PricingFeed>('GET', '/pricing.json', { signal }),
  staleTime: 60_000,
})

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }) => requestJson<KeyList>('GET', '/console/api/keys', { signal }),
})

export const billingQuery = queryOptions({
  queryKey: ['billing'],
  queryFn: ({ signal }) => requestJson<BillingView>('GET', '/console/api/billing', { signal }),
})

export const topUpsQuery = infiniteQueryOptions({
  queryKey: ['top-ups'],
  queryFn: ({ pageParam, signal }) =>
    requestJson<Page<TopUpView>>('GET', `/console/api/top-ups${queryString({ cursor: pageParam })}`, {
      signal,
    }),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

export const topUpQuery = (id: string) =>
  queryOptions({
    queryKey: ['top-ups', id],
    queryFn: ({ signal }) =>
      requestJson<TopUpView>('GET', `/console/api/top-ups/${encodeURIComponent(id)}`, { signal }),
  })

export const ledgerQuery = infiniteQueryOptions({
  queryKey: ['ledger'],
  queryFn: ({ pageParam, signal }) =>
    requestJson<Page<LedgerRow>>('GET', `/console/api/ledger${queryString({ cursor: pageParam })}`, {
      signal,
    }),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

export type UsageGroup = UsageView['group_by']

export const usageQuery = (span: { from: string; to: string }, group: UsageGroup) =>
  queryOptions({
    queryKey: ['usage', group, span],
    queryFn: ({ signal }) =>
      requestJson<UsageView>('GET', `/console/api/usage${queryString({ ...span, group_by: group })}`, {
        signal,
      }),
  })

export interface CallFilters {
  from?: string
  to?: string
  model?: string
  key_id?: string
  status?: string
}

export const callsPath = (filters: CallFilters, form: '' | '.csv' = ''): string =>
  `/console/api/calls${form}${queryString({ ...filters })}`

export const callsQuery = (filters: CallFilters, limit: number) =>
  infiniteQueryOptions({
    queryKey: ['calls', filters, limit],
    queryFn: ({ pageParam, signal }) =>
      requestJson<Page<CallSummary>>(
        'GET',
        `/console/api/calls${queryString({ ...filters, limit, cursor: pageParam })}`,
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })

/** A call is settled about a second after its end; until then the gateway answers 404. */
const SETTLING_TRIES = 15
const SETTLING_WAIT_MS = 700

export const callQuery = (id: string, options: { awaitSettling?: boolean } = {}) =>
  queryOptions({
    queryKey: ['calls', 'one', id],
    queryFn: ({ signal }) =>
      requestJson<CallDetail>('GET', `/console/api/calls/${encodeURIComponent(id)}`, { signal }),
    retry: (tries, error) =>
      options.awaitSettling === true &&
      tries < SETTLING_TRIES &&
      error instanceof RequestFailure &&
      error.status === 404,
    retryDelay: SETTLING_WAIT_MS,
    // A settled call never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })

export const providerKeysQuery = queryOptions({
  queryKey: ['provider-keys'],
  queryFn: ({ signal }) => requestJson<ProviderKeyList>('GET', '/console/api/provider-keys', { signal }),
})

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => requestJson<WebhookList>('GET', '/console/api/webhooks', { signal }),
})

export const deliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', id],
    queryFn: ({ signal }) =>
      requestJson<{ data: DeliveryView[] }>(
        'GET',
        `/console/api/webhooks/${encodeURIComponent(id)}/deliveries`,
        { signal },
      ),
  })
