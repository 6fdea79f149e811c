import { createRoute, redirect } from '@tanstack/react-router'
import { lazyPart } from '../api/lazy-part.ts'
import { operatorSessionQuery } from '../api/operator-queries.ts'
import { readCallFilters } from '../lib/calls/call-filters.ts'
import { CrashPage } from '../pages/not-found-page.tsx'
import { localPath, onwards, textParameters } from './address.ts'
import { FrameSkeleton } from './open-frame.tsx'
import { page, searchPage } from './page-route.ts'
import { rootRoute } from './root-route.tsx'
import { SiteLayout } from './site-layout.tsx'

const nextParameter = ({ next }: Record<string, unknown>): { next?: string } => {
  const path = localPath(next)
  return path?.startsWith('/admin') ? { next: path } : {}
}

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/admin/sign-in',
  validateSearch: (search: Record<string, unknown>) => ({
    ...nextParameter(search),
    ...textParameters('problem')(search),
  }),
  beforeLoad: async ({ context, search }) => {
    const session = await context.queryClient.ensureQueryData(operatorSessionQuery).catch(() => null)
    if (session) throw redirect(onwards(search.next))
  },
  component: lazyPart(async () => (await import('../pages/admin/sign-in-page.tsx')).OperatorSignInPage),
})

/** Pages for operators. Without a session they lead to the page that takes an admin key, which leads back. */
const operatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'operator',
  validateSearch: nextParameter,
  beforeLoad: async ({ context, location, search }) => {
    const session = await context.queryClient.ensureQueryData(operatorSessionQuery)
    if (!session) throw redirect({ to: '/admin/sign-in', search: { next: search.next ?? location.href } })
    if (search.next && location.pathname === '/admin') throw redirect(onwards(search.next))
  },
  component: lazyPart(async () => (await import('./operator-layout.tsx')).OperatorLayout),
  pendingComponent: FrameSkeleton,
  pendingMs: 150,
  errorComponent: ({ error }) => (
    <SiteLayout>
      <CrashPage error={error} />
    </SiteLayout>
  ),
})

const modelsRoute = createRoute({ getParentRoute: () => operatorRoute, path: '/admin/models' })

const pages = {
  providers: () => import('../pages/admin/providers-page.tsx'),
  provider: () => import('../pages/admin/provider-page.tsx'),
  calls: () => import('../pages/admin/calls-page.tsx'),
  accounts: () => import('../pages/admin/accounts-page.tsx'),
  account: () => import('../pages/admin/account-page.tsx'),
  margin: () => import('../pages/admin/margin-page.tsx'),
  alarms: () => import('../pages/admin/alarms-page.tsx'),
  operators: () => import('../pages/admin/operators-page.tsx'),
  actions: () => import('../pages/admin/actions-page.tsx'),
}

const queries = {
  accounts: textParameters('search', 'new'),
  account: textParameters('tab'),
  alarms: textParameters('state', 'tab'),
}

/** Every page under /admin; none of their code is loaded before one is opened. */
export const operatorRoutes = [
  signInRoute,
  operatorRoute.addChildren([
    page(operatorRoute, '/admin', () => import('../pages/admin/overview-page.tsx'), 'OverviewPage'),
    searchPage(operatorRoute, '/admin/providers', textParameters('all'), pages.providers, 'ProvidersPage'),
    page(operatorRoute, '/admin/providers/$id', pages.provider, 'ProviderPage'),
    searchPage(operatorRoute, '/admin/calls', readCallFilters, pages.calls, 'OperatorCallsPage'),
    page(operatorRoute, '/admin/calls/$id', () => import('../pages/admin/call-page.tsx'), 'OperatorCallPage'),
    searchPage(operatorRoute, '/admin/accounts', queries.accounts, pages.accounts, 'AccountsPage'),
    searchPage(operatorRoute, '/admin/accounts/$id', queries.account, pages.account, 'OperatorAccountPage'),
    modelsRoute.addChildren([
      searchPage(modelsRoute, '/', textParameters('days', 'group'), pages.margin, 'MarginPage'),
      // Ids of models hold slashes, so the rest of the path is the id.
      page(modelsRoute, '$', () => import('../pages/admin/model-page.tsx'), 'OperatorModelPage'),
    ]),
    page(operatorRoute, '/admin/catalog', () => import('../pages/admin/catalog-page.tsx'), 'CatalogPage'),
    page(operatorRoute, '/admin/router', () => import('../pages/admin/router-page.tsx'), 'RouterPage'),
    page(operatorRoute, '/admin/ledger', () => import('../pages/admin/ledger-page.tsx'), 'LedgerPage'),
    searchPage(operatorRoute, '/admin/alarms', queries.alarms, pages.alarms, 'AlarmsPage'),
    page(operatorRoute, '/admin/operators', pages.operators, 'OperatorsPage'),
    searchPage(operatorRoute, '/admin/actions', textParameters('target'), pages.actions, 'ActionsPage'),
  ]),
] as const
