import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { operatorSessionQuery } from '../api/operator-queries.ts'
import { readCallFilters } from '../lib/call-filters.ts'
import { CrashPage } from '../pages/not-found-page.tsx'
import { localPath, textParameter } from './address.ts'
import { rootRoute } from './root-route.tsx'
import { SiteLayout } from './site-layout.tsx'

type Search = Record<string, unknown>

/** The queue board is a page of the server's own, not one of this router. */
const isServersPage = (path: string): boolean => path.startsWith('/admin/queues')

const nextParameter = ({ next }: Search): { next?: string } => {
  const path = localPath(next)
  return path?.startsWith('/admin') ? { next: path } : {}
}

/** Where an operator goes on to after signing in. */
export const onwards = (next: string | undefined) => {
  const href = next ?? '/admin'
  return { href, reloadDocument: isServersPage(href) }
}

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/admin/sign-in',
  validateSearch: nextParameter,
  beforeLoad: async ({ context, search }) => {
    const session = await context.queryClient.ensureQueryData(operatorSessionQuery).catch(() => null)
    if (session) throw redirect(onwards(search.next))
  },
  component: lazyRouteComponent(
    () => import('../pages/admin/operator-sign-in-page.tsx'),
    'OperatorSignInPage',
  ),
})

/** Pages for operators. Without a session they lead to the page that takes an admin key, and come back. */
const operatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'operator',
  validateSearch: nextParameter,
  beforeLoad: async ({ context, location, search }) => {
    const session = await context.queryClient.ensureQueryData(operatorSessionQuery)
    if (!session) throw redirect({ to: '/admin/sign-in', search: { next: search.next ?? location.href } })
    if (search.next && location.pathname === '/admin') throw redirect(onwards(search.next))
  },
  component: lazyRouteComponent(() => import('./operator-layout.tsx'), 'OperatorLayout'),
  errorComponent: ({ error }) => (
    <SiteLayout>
      <CrashPage error={error} />
    </SiteLayout>
  ),
})

const overviewRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin',
  component: lazyRouteComponent(() => import('../pages/admin/overview-page.tsx'), 'OverviewPage'),
})

const providersRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/providers',
  validateSearch: (search: Search): { all?: string } => textParameter(search, 'all'),
  component: lazyRouteComponent(() => import('../pages/admin/providers-page.tsx'), 'ProvidersPage'),
})

const providerRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/providers/$id',
  component: lazyRouteComponent(() => import('../pages/admin/provider-page.tsx'), 'ProviderPage'),
})

const callsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/calls',
  validateSearch: readCallFilters,
  component: lazyRouteComponent(() => import('../pages/admin/operator-calls-page.tsx'), 'OperatorCallsPage'),
})

const callRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/calls/$id',
  component: lazyRouteComponent(() => import('../pages/admin/operator-call-page.tsx'), 'OperatorCallPage'),
})

const accountsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/accounts',
  validateSearch: (search: Search): { search?: string } => textParameter(search, 'search'),
  component: lazyRouteComponent(() => import('../pages/admin/accounts-page.tsx'), 'AccountsPage'),
})

const accountRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/accounts/$id',
  component: lazyRouteComponent(
    () => import('../pages/admin/operator-account-page.tsx'),
    'OperatorAccountPage',
  ),
})

const allModelsRoute = createRoute({ getParentRoute: () => operatorRoute, path: '/admin/models' })

const modelsRoute = createRoute({
  getParentRoute: () => allModelsRoute,
  path: '/',
  validateSearch: (search: Search): { days?: string; group?: string } => ({
    ...textParameter(search, 'days'),
    ...textParameter(search, 'group'),
  }),
  component: lazyRouteComponent(() => import('../pages/admin/margin-page.tsx'), 'MarginPage'),
})

/** Ids of models hold slashes, so the rest of the path is the id. */
const modelRoute = createRoute({
  getParentRoute: () => allModelsRoute,
  path: '$',
  component: lazyRouteComponent(() => import('../pages/admin/operator-model-page.tsx'), 'OperatorModelPage'),
})

const catalogRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/catalog',
  component: lazyRouteComponent(() => import('../pages/admin/catalog-page.tsx'), 'CatalogPage'),
})

const ledgerRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/ledger',
  component: lazyRouteComponent(() => import('../pages/admin/ledger-page.tsx'), 'LedgerPage'),
})

const alarmsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/alarms',
  validateSearch: (search: Search): { state?: string } => textParameter(search, 'state'),
  component: lazyRouteComponent(() => import('../pages/admin/alarms-page.tsx'), 'AlarmsPage'),
})

const actionsRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/admin/actions',
  validateSearch: (search: Search): { target?: string } => textParameter(search, 'target'),
  component: lazyRouteComponent(() => import('../pages/admin/actions-page.tsx'), 'ActionsPage'),
})

/** Every page under /admin; none of their code is loaded before one is opened. */
export const operatorRoutes = [
  signInRoute,
  operatorRoute.addChildren([
    overviewRoute,
    providersRoute,
    providerRoute,
    callsRoute,
    callRoute,
    accountsRoute,
    accountRoute,
    allModelsRoute.addChildren([modelsRoute, modelRoute]),
    catalogRoute,
    ledgerRoute,
    alarmsRoute,
    actionsRoute,
  ]),
] as const
