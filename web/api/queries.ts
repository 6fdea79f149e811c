import { queryOptions } from '@tanstack/react-query'
import type { AutoTopUpView } from '../../src/core/api/auto-top-up.ts'
import type { BillingView, LedgerRow, StatementView, TopUpView } from '../../src/core/api/billing.ts'
import type { GroupBudgetList, SpendCapView } from '../../src/core/api/budgets.ts'
import type { ByokKeyList } from '../../src/core/api/byok-keys.ts'
import type { CallSessionDetail, CallSessionList } from '../../src/core/api/call-sessions.ts'
import type { AccountCall, CallDetail, CallPage, PromptLogView } from '../../src/core/api/calls.ts'
import type { VisitorView } from '../../src/core/api/gateway.ts'
import type { GuardrailList } from '../../src/core/api/guardrails.ts'
import type { IdentityList } from '../../src/core/api/identities.ts'
import type { BillingDetailsView, InvoiceView, TopUpInvoices } from '../../src/core/api/invoices.ts'
import type { KeyList, KeyView } from '../../src/core/api/keys.ts'
import type { ModelDetails, ModelFactsList, ModelProviderList } from '../../src/core/api/models.ts'
import type { ActivityEntry, MemberList, ReceivedInvitationView } from '../../src/core/api/organisations.ts'
import type { PresetDetail, PresetList } from '../../src/core/api/presets.ts'
import type { ProviderStatusList } from '../../src/core/api/provider-status.ts'
import type { RefusalsView } from '../../src/core/api/refusals.ts'
import type { SecondFactorAsked, SecondFactorView } from '../../src/core/api/second-factor.ts'
import type { SessionList } from '../../src/core/api/sessions.ts'
import type { UsageSeriesView, UsageView } from '../../src/core/api/usage.ts'
import type { DeliveryView, WebhookList } from '../../src/core/api/webhooks.ts'
import type { PricingFeed } from '../../src/core/catalog/pricing-feed-view.ts'
import { BASE_PATH } from '../lib/base-path.ts'
import type { placeQuery } from '../lib/calls/call-order.ts'
import { joinCatalog } from '../lib/models/model-catalog.ts'
import type { OpenApi } from '../lib/openapi-view.ts'
import { noteSignedIn } from '../lib/signed-in-hint.ts'
import type { seriesQuery } from '../lib/usage-view.ts'
import { pagesOf, readOf } from './read.ts'
import { path, queryString, RequestFailure, requestJson, VISITOR_PATH } from './request.ts'

/** Every read of the account's pages. */

/** What every page begins with, in one request: the document asks for it before the code is there. */
export const visitorQuery = queryOptions({
  queryKey: [VISITOR_PATH],
  queryFn: async ({ signal }): Promise<VisitorView> => {
    const visitor = await requestJson<VisitorView>('GET', VISITOR_PATH, undefined, signal)
    noteSignedIn(visitor.session !== null)
    return visitor
  },
  staleTime: 30_000,
})

/** The session of this browser; null without one. */
export const sessionQuery = queryOptions({ ...visitorQuery, select: ({ session }) => session })

export const gatewayQuery = queryOptions({ ...visitorQuery, select: ({ gateway }) => gateway })

export const invitationsQuery = queryOptions({ ...visitorQuery, select: ({ invitations }) => invitations })

/** Refused with 404 unless operators publish it. */
export const providerStatusQuery = queryOptions({
  ...readOf<ProviderStatusList>('/console/api/provider-status', 60_000),
  staleTime: 30_000,
})

export const pricingQuery = queryOptions({ ...readOf<PricingFeed>('/pricing.json'), staleTime: 60_000 })

/** The catalog: prices, and what else is known of models. New prices make it stale. */
export const modelsQuery = queryOptions({
  queryKey: ['/pricing.json', '/console/api/models'] as readonly string[],
  queryFn: async ({ signal }) => {
    const [feed, facts] = await Promise.all([
      requestJson<PricingFeed>('GET', '/pricing.json', undefined, signal),
      requestJson<ModelFactsList>('GET', '/console/api/models', undefined, signal),
    ])
    return joinCatalog(feed, facts)
  },
  staleTime: 60_000,
})

export const modelDetailsQuery = (id: string) =>
  queryOptions({ ...readOf<ModelDetails>(path`/console/api/models/${id}`), staleTime: 60_000 })

export const modelProvidersQuery = (id: string) =>
  queryOptions({
    ...readOf<ModelProviderList>(path`/console/api/models/${id}/providers`),
    staleTime: 60_000,
  })

export const openapiQuery = queryOptions({ ...readOf<OpenApi>('/openapi.json'), staleTime: 300_000 })

export const identitiesQuery = readOf<IdentityList>('/console/api/identities')

export const secondFactorQuery = readOf<SecondFactorView>('/console/api/second-factor')

/** What the step asks for that a sign-in with another service led to. */
export const stepQuery = (step: string) =>
  queryOptions({
    queryKey: ['/console/api/sign-in/asked', step],
    queryFn: () => requestJson<SecondFactorAsked>('POST', '/console/api/sign-in/asked', { step }),
    // Asked again, it would make another challenge.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })

export const membersQuery = readOf<MemberList>('/console/api/members')

export const activityQuery = (target: string | undefined) =>
  pagesOf<ActivityEntry>('/console/api/activity', { target })

/** What the link of an invitation invites to. */
export const invitationQuery = (token: string) =>
  queryOptions({
    queryKey: ['/console/api/invitations/look', token],
    queryFn: () => requestJson<ReceivedInvitationView>('POST', '/console/api/invitations/look', { token }),
    staleTime: 60_000,
    retry: false,
  })

export const sessionsQuery = readOf<SessionList>('/console/api/sessions')

export const keysQuery = readOf<KeyList>('/console/api/keys')

export const keyQuery = (id: string) => readOf<KeyView>(path`/console/api/keys/${id}`)

export const billingQuery = readOf<BillingView>('/console/api/billing')

export const spendCapQuery = readOf<SpendCapView>('/console/api/spend-cap')

export const topUpsQuery = pagesOf<TopUpView>('/console/api/top-ups', {}, false, (last) => last.payment_id)

export const topUpQuery = (id: string) => readOf<TopUpView>(path`/console/api/top-ups/${id}`)

export const autoTopUpQuery = readOf<AutoTopUpView>('/console/api/auto-top-up')

export const billingDetailsQuery = readOf<BillingDetailsView>('/console/api/billing-details')

export const invoicesQuery = pagesOf<InvoiceView>('/console/api/invoices')

/** The invoice and the credit notes of a top-up. */
export const topUpInvoicesQuery = (id: string) =>
  readOf<TopUpInvoices>(path`/console/api/top-ups/${id}/invoices`)

/** Where an invoice is downloaded, for a link. */
export const invoicePdfPath = (id: string): string => `${BASE_PATH}${path`/console/api/invoices/${id}/pdf`}`

/** Of a month, `2027-01`. */
export const statementQuery = (month: string) => readOf<StatementView>(path`/console/api/statements/${month}`)

export const ledgerQuery = pagesOf<LedgerRow>('/console/api/ledger')

export const usageQuery = (span: { from: string; to: string }, group: UsageView['group_by']) =>
  readOf<UsageView>(`/console/api/usage${queryString({ ...span, group_by: group })}`)

type SeriesQuery = ReturnType<typeof seriesQuery> & { key_id?: string }

export const usageSeriesQuery = (query: SeriesQuery) =>
  readOf<UsageSeriesView>(`/console/api/usage/series${queryString({ ...query })}`)

export const refusalsQuery = (period: { from: string; to: string; time_zone: string }) =>
  readOf<RefusalsView>(`/console/api/usage/refusals${queryString(period)}`)

/** Where the figures of a chart are as CSV. */
export const usageSeriesCsvPath = (query: SeriesQuery): string =>
  `${BASE_PATH}/console/api/usage/series.csv${queryString({ ...query })}`

export interface CallFilters {
  from?: string
  to?: string
  time_zone?: string
  /** A text to search by. */
  q?: string | undefined
  model?: string | undefined
  key_id?: string | undefined
  /** Who made the key. */
  member_id?: string | undefined
  status?: string | undefined
}

/** Where the calls that pass the filters are as CSV. */
export const callsCsvPath = (filters: CallFilters): string =>
  `${BASE_PATH}/console/api/calls.csv${queryString({ ...filters })}`

/** One page of the calls that pass the filters. `place`: its order and its place in it. */
export const callsQuery = (
  filters: CallFilters,
  limit: number,
  place: ReturnType<typeof placeQuery> | object = {},
) => readOf<CallPage<AccountCall>>(`/console/api/calls${queryString({ ...filters, ...place, limit })}`)

/** A call is settled about a second after its end; until then the gateway responds with 404. */
const SETTLING_TRIES = 15
const SETTLING_WAIT_MS = 700

export const callQuery = (id: string) =>
  queryOptions({
    ...readOf<CallDetail>(path`/console/api/calls/${id}`),
    retry: (tries, error) =>
      tries < SETTLING_TRIES && error instanceof RequestFailure && error.status === 404,
    retryDelay: SETTLING_WAIT_MS,
    // A settled call never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })

export const callSessionsQuery = readOf<CallSessionList>('/console/api/call-sessions')

export const callSessionQuery = (id: string) =>
  readOf<CallSessionDetail>(`/console/api/call-sessions/calls${queryString({ id })}`)

export const promptLogQuery = (id: string) => readOf<PromptLogView>(path`/console/api/calls/${id}/prompt-log`)

export const providerKeysQuery = readOf<ByokKeyList>('/console/api/provider-keys')

export const budgetsQuery = readOf<GroupBudgetList>('/console/api/budgets')

export const presetsQuery = readOf<PresetList>('/console/api/presets')

/** `version`: absent for the latest. */
export const presetQuery = (name: string, version?: number) =>
  readOf<PresetDetail>(path`/console/api/presets/${name}` + queryString({ version }))

export const guardrailsQuery = readOf<GuardrailList>('/console/api/guardrails')

export const webhooksQuery = readOf<WebhookList>('/console/api/webhooks')

export const deliveriesQuery = (id: string) =>
  readOf<{ data: DeliveryView[] }>(path`/console/api/webhooks/${id}/deliveries`, 3_000)
