import { type QueryClient, useQuery } from '@tanstack/react-query'
import { createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router'
import { lazyPart } from '../api/lazy-part.ts'
import { modelsQuery, sessionQuery, visitorQuery } from '../api/queries.ts'
import { BASE_PATH } from '../lib/base-path.ts'
import { PLACE_PARAMETERS } from '../lib/calls/call-order.ts'
import { readCompared, readModelFilters } from '../lib/models/model-filters.ts'
import { wasSignedIn } from '../lib/signed-in-hint.ts'
import { LandingPage } from '../pages/landing-page.tsx'
import { CrashPage, NotFoundPage } from '../pages/not-found-page.tsx'
import { fragmentOf, localPath, readQuery, textParameters, writeQuery } from './address.ts'
import { FrameSkeleton, loadOpenFrame, OpenFrame } from './open-frame.tsx'
import { operatorRoutes } from './operator-routes.tsx'
import { page, searchPage } from './page-route.ts'
import { rootRoute } from './root-route.tsx'
import { noteSessionEnd } from './session-end.ts'
import { SiteLayout } from './site-layout.tsx'

/** Pages for visitors, under one header. */
const siteRoute = createRoute({ getParentRoute: () => rootRoute, id: 'site', component: SiteLayout })

const landingRoute = createRoute({ getParentRoute: () => siteRoute, path: '/', component: LandingPage })

/** Pages for everyone, in the frame of the account where there is a session. */
const openRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'open',
  loader: ({ context }) => loadOpenFrame(context.queryClient),
  component: OpenFrame,
  pendingComponent: FrameSkeleton,
  pendingMs: 150,
})

const catalogRoute = createRoute({
  getParentRoute: () => openRoute,
  path: '/models',
  loader: ({ context }) => void context.queryClient.prefetchQuery(modelsQuery),
})

const docsRoute = page(openRoute, '/docs', () => import('../pages/docs/docs-layout.tsx'), 'DocsLayout')

/** The former address of the status page, which customers may have kept. */
const formerStatusRoute = createRoute({
  getParentRoute: () => openRoute,
  path: '/status/providers',
  beforeLoad: () => {
    throw redirect({ to: '/status', replace: true })
  },
})

/** Pages for visitors without a session; with one they lead on. */
const guestRoute = createRoute({
  getParentRoute: () => siteRoute,
  id: 'guest',
  validateSearch: ({ next, problem }: Record<string, unknown>): { next?: string; problem?: string } => {
    const path = localPath(next)
    return { ...(path && { next: path }), ...textParameters('problem')({ problem }) }
  },
  beforeLoad: async ({ context, search, location }) => {
    const visitor = await context.queryClient.ensureQueryData(visitorQuery).catch(() => null)
    if (visitor?.session) throw redirect({ href: (search.next ?? '/dashboard') + fragmentOf(location) })
  },
})

/** Pages of an account. Without a session they lead to the sign-in page, which leads back. */
/** Whether this browser had a session when the page was loaded, until it is known whether it still has. */
let hadSession = wasSignedIn()

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'account',
  beforeLoad: async ({ context, location }) => {
    const { session } = await context.queryClient.ensureQueryData(visitorQuery)
    if (!session && hadSession) noteSessionEnd()
    hadSession = false
    // The fragment may hold a token, which must not be sent to a server.
    const next = location.pathname + location.searchStr
    if (!session) throw redirect({ to: '/sign-in', search: { next }, hash: location.hash })
  },
  component: lazyPart(async () => (await import('./account-layout.tsx')).AccountLayout),
  pendingComponent: FrameSkeleton,
  pendingMs: 150,
  // When the session cannot be read, there is no frame to show that in.
  errorComponent: ({ error }) => (
    <SiteLayout>
      <CrashPage error={error} />
    </SiteLayout>
  ),
})

/**
 * Pages that only an organisation has. A bookmark or the Back button may open one on a personal account, where
 * "Delete organisation" would delete the person's own account: it leads to the settings instead.
 */
const organisationRoute = createRoute({
  getParentRoute: () => accountRoute,
  id: 'organisation-only',
  beforeLoad: async ({ context }) => {
    const { session } = await context.queryClient.ensureQueryData(visitorQuery)
    if (!session?.account.is_organisation) throw redirect({ to: '/settings', replace: true })
  },
  component: OrganisationOutlet,
})

/** The session may come to act on another account while such a page is shown. */
function OrganisationOutlet() {
  const { data: session } = useQuery(sessionQuery)
  return session?.account.is_organisation ? <Outlet /> : null
}

// Payment providers send customers back with these.
const billingParameters = textParameters('payment_id', 'outcome', 'card_setup', 'tab')
const PERIOD_PARAMETERS = ['days', 'from', 'to', 'interval', 'measure', 'zone'] as const
const usageParameters = textParameters(
  ...PERIOD_PARAMETERS,
  ...PLACE_PARAMETERS,
  ...(['group', 'q', 'model', 'key_id', 'member_id', 'status'] as const),
)

const keyParameters = textParameters('q', 'state', 'sort', 'order', 'page', 'new')

/** The code of each page; none is loaded before one of them is opened. */
const pages = {
  verify: () => import('../pages/verify-page.tsx'),
  resetPassword: () => import('../pages/reset-password-page.tsx'),
  signIn: () => import('../pages/sign-in-page.tsx'),
  models: () => import('../pages/models-page.tsx'),
  compare: () => import('../pages/compare-page.tsx'),
  keys: () => import('../pages/keys-page.tsx'),
  key: () => import('../pages/key-page.tsx'),
  billing: () => import('../pages/billing-page.tsx'),
  statement: () => import('../pages/statement-page.tsx'),
  usage: () => import('../pages/usage-page.tsx'),
  callSession: () => import('../pages/call-session-page.tsx'),
  members: () => import('../pages/members-page.tsx'),
  activity: () => import('../pages/activity-page.tsx'),
  organisation: () => import('../pages/organisation-page.tsx'),
  presets: () => import('../pages/presets-page.tsx'),
  playground: () => import('../pages/playground-page.tsx'),
  settings: () => import('../pages/settings-page.tsx'),
}

const routeTree = rootRoute.addChildren([
  siteRoute.addChildren([
    landingRoute,
    page(siteRoute, '/invitation', () => import('../pages/invitation-page.tsx'), 'InvitationPage'),
    page(siteRoute, '/verify', pages.verify, 'VerifyPage'),
    page(siteRoute, '/email', pages.verify, 'ConfirmEmailPage'),
    page(siteRoute, '/forgot-password', pages.resetPassword, 'ForgotPasswordPage'),
    page(siteRoute, '/reset', pages.resetPassword, 'ResetPasswordPage'),
    guestRoute.addChildren([
      page(guestRoute, '/sign-in', pages.signIn, 'SignInPage'),
      page(guestRoute, '/sign-up', pages.signIn, 'SignUpPage'),
    ]),
  ]),
  openRoute.addChildren([
    catalogRoute.addChildren([
      searchPage(catalogRoute, '/', readModelFilters, pages.models, 'ModelsPage'),
      searchPage(catalogRoute, 'compare', readCompared, pages.compare, 'ComparePage'),
      // Ids of models hold slashes, so the rest of the path is the id.
      page(catalogRoute, '$', () => import('../pages/model-page.tsx'), 'ModelPage'),
    ]),
    docsRoute.addChildren([
      page(docsRoute, '/', () => import('../pages/docs-page.tsx'), 'DocsPage'),
      page(docsRoute, 'api', () => import('../pages/api-reference-page.tsx'), 'ApiReferencePage'),
      page(docsRoute, '$page', () => import('../pages/docs/doc-page.tsx'), 'DocPage'),
    ]),
    page(openRoute, '/status', () => import('../pages/provider-status-page.tsx'), 'ProviderStatusPage'),
    formerStatusRoute,
  ]),
  accountRoute.addChildren([
    page(accountRoute, '/dashboard', () => import('../pages/dashboard-page.tsx'), 'DashboardPage'),
    searchPage(accountRoute, '/keys', keyParameters, pages.keys, 'KeysPage'),
    searchPage(accountRoute, '/keys/$id', textParameters(...PERIOD_PARAMETERS), pages.key, 'KeyPage'),
    searchPage(accountRoute, '/billing', billingParameters, pages.billing, 'BillingPage'),
    page(accountRoute, '/billing/statements/$month', pages.statement, 'StatementPage'),
    page(accountRoute, '/billing/receipts/$id', () => import('../pages/receipt-page.tsx'), 'ReceiptPage'),
    searchPage(accountRoute, '/usage', usageParameters, pages.usage, 'UsagePage'),
    searchPage(accountRoute, '/session', textParameters('id'), pages.callSession, 'CallSessionPage'),
    page(accountRoute, '/calls/$id', () => import('../pages/call-page.tsx'), 'CallPage'),
    page(accountRoute, '/provider-keys', () => import('../pages/provider-keys-page.tsx'), 'ProviderKeysPage'),
    searchPage(accountRoute, '/activity', textParameters('target'), pages.activity, 'ActivityPage'),
    organisationRoute.addChildren([
      searchPage(organisationRoute, '/members', textParameters('new'), pages.members, 'MembersPage'),
      page(organisationRoute, '/organisation', pages.organisation, 'OrganisationPage'),
    ]),
    page(accountRoute, '/budgets', () => import('../pages/budgets-page.tsx'), 'BudgetsPage'),
    searchPage(accountRoute, '/presets', textParameters('new'), pages.presets, 'PresetsPage'),
    page(accountRoute, '/presets/$name', () => import('../pages/preset-page.tsx'), 'PresetPage'),
    page(accountRoute, '/webhooks', () => import('../pages/webhooks-page.tsx'), 'WebhooksPage'),
    searchPage(accountRoute, '/playground', textParameters('model'), pages.playground, 'PlaygroundPage'),
    searchPage(accountRoute, '/settings', textParameters('problem'), pages.settings, 'SettingsPage'),
  ]),
  ...operatorRoutes,
])

/** Every page and its address. */
export function createConsoleRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    basepath: BASE_PATH,
    context: { queryClient },
    defaultPreload: 'intent',
    // The query cache decides what is fresh.
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    parseSearch: readQuery,
    stringifySearch: writeQuery,
    defaultNotFoundComponent: NotFoundPage,
    defaultErrorComponent: CrashPage,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
