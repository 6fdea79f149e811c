import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext } from '@tanstack/react-router'
import { NotFoundPage } from '../pages/not-found-page.tsx'
import { RootLayout } from './root-layout.tsx'
import { SiteLayout } from './site-layout.tsx'

interface RouterContext {
  queryClient: QueryClient
}

/** What every page's route descends from. */
export const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: RootLayout,
  notFoundComponent: () => (
    <SiteLayout>
      <NotFoundPage />
    </SiteLayout>
  ),
})
