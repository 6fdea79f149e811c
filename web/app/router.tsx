import type { QueryClient } from '@tanstack/react-query'
import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { pricingQuery, sessionQuery } from '../api/queries.ts'
import { readModelFilters } from '../lib/model-filters.ts'
import { LandingPage } from '../pages/landing-page.tsx'
import { CrashPage, NotFoundPage } from '../pages/not-found-page.tsx'
import { localPath, readQuery, textParameter, writeQuery } from './address.ts'
import { operatorRoutes } from './operator-routes.tsx'
import { rootRoute } from './root-route.tsx'
import { SiteLayout } from './site-layout.tsx'

/** Pages for everyone, under one header. */
const siteRoute = createRoute({ getParentRoute: () => rootRoute, id: 'site', component: SiteLayout })

const landingRoute = createRoute({ getParentRoute: () => siteRoute, path: '/', component: LandingPage })

const catalogRoute = createRoute({
  getParentRoute: () => siteRoute,
  path: '/models',
  loader: ({ context }) => void context.queryClient.prefetchQuery(pricingQuery),
})

const modelsRoute = createRoute({
  getParentRoute: () => catalogRoute,
  path: '/',
  validateSearch: readModelFilters,
  component: lazyRouteComponent(() => import('../pages/models-page.tsx'), 'ModelsPage'),
})

/** Ids of models hold slashes, so the rest of the path is the id. */
const modelRoute = createRoute({
  getParentRoute: () => catalogRoute,
  path: '$',
  component: lazyRouteComponent(() => import('../pages/model-page.tsx'), 'ModelPage'),
})

const docsRoute = createRoute({
  getParentRoute: () => siteRoute,
  path: '/docs',
  component: lazyRouteComponent(() => import('../pages/docs-page.tsx'), 'DocsPage'),
})

const verifyRoute = createRoute({
  getParentRoute: () => siteRoute,
  path: '/verify',
  component: lazyRouteComponent(() => import('../pages/verify-page.tsx'), 'VerifyPage'),
})

/** Pages for who is not signed in; whoever is goes on to where they wanted to be. */
const guestRoute = createRoute({
  getParentRoute: () => siteRoute,
  id: 'guest',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } => {
    const path = localPath(next)
    return path ? { next: path } : {}
  },
  beforeLoad: async ({ context, search }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery).catch(() => null)
    if (session) throw redirect({ href: search.next ?? '/dashboard' })
  },
})

const signInRoute = createRoute({
  getParentRoute: () => guestRoute,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('../pages/sign-in-page.tsx'), 'SignInPage'),
})

const signUpRoute = createRoute({
  getParentRoute: () => guestRoute,
  path: '/sign-up',
  component: lazyRouteComponent(() => import('../pages/sign-up-page.tsx'), 'SignUpPage'),
})

/** Pages of an account. Without a session they lead to the sign-in page and come back. */
const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'account',
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery)
    if (!session) throw redirect({ to: '/sign-in', search: { next: location.href } })
  },
  component: lazyRouteComponent(() => import('./account-layout.tsx'), 'AccountLayout'),
  // Where it could not be asked who is signed in, there is no frame to show that in.
  errorComponent: ({ error }) => (
    <SiteLayout>
      <CrashPage error={error} />
    </SiteLayout>
  ),
})

const dashboardRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/dashboard',
  component: lazyRouteComponent(() => import('../pages/dashboard-page.tsx'), 'DashboardPage'),
})

const keysRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/keys',
  component: lazyRouteComponent(() => import('../pages/keys-page.tsx'), 'KeysPage'),
})

const billingRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/billing',
  // Where the rails send customers back to.
  validateSearch: (search: Record<string, unknown>): { payment_id?: string; outcome?: string } => ({
    ...textParameter(search, 'payment_id'),
    ...textParameter(search, 'outcome'),
  }),
  component: lazyRouteComponent(() => import('../pages/billing-page.tsx'), 'BillingPage'),
})

const receiptRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/billing/receipts/$id',
  component: lazyRouteComponent(() => import('../pages/receipt-page.tsx'), 'ReceiptPage'),
})

const usageRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/usage',
  validateSearch: (
    search: Record<string, unknown>,
  ): { days?: string; group?: string; model?: string; key_id?: string; status?: string } => ({
    ...textParameter(search, 'days'),
    ...textParameter(search, 'group'),
    ...textParameter(search, 'model'),
    ...textParameter(search, 'key_id'),
    ...textParameter(search, 'status'),
  }),
  component: lazyRouteComponent(() => import('../pages/usage-page.tsx'), 'UsagePage'),
})

const callRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/calls/$id',
  component: lazyRouteComponent(() => import('../pages/call-page.tsx'), 'CallPage'),
})

const providerKeysRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/provider-keys',
  component: lazyRouteComponent(() => import('../pages/provider-keys-page.tsx'), 'ProviderKeysPage'),
})

const webhooksRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('../pages/webhooks-page.tsx'), 'WebhooksPage'),
})

const playgroundRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/playground',
  validateSearch: (search: Record<string, unknown>): { model?: string } => textParameter(search, 'model'),
  component: lazyRouteComponent(() => import('../pages/playground-page.tsx'), 'PlaygroundPage'),
})

const settingsRoute = createRoute({
  getParentRoute: () => accountRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../pages/settings-page.tsx'), 'SettingsPage'),
})

const routeTree = rootRoute.addChildren([
  siteRoute.addChildren([
    landingRoute,
    catalogRoute.addChildren([modelsRoute, modelRoute]),
    docsRoute,
    verifyRoute,
    guestRoute.addChildren([signInRoute, signUpRoute]),
  ]),
  accountRoute.addChildren([
    dashboardRoute,
    keysRoute,
    billingRoute,
    receiptRoute,
    usageRoute,
    callRoute,
    providerKeysRoute,
    webhooksRoute,
    playgroundRoute,
    settingsRoute,
  ]),
  ...operatorRoutes,
])

/** Every page and its address. */
export function createConsoleRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    // The cache of answers decides what is fresh.
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
