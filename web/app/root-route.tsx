import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, Outlet, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { noteNavigation } from '../components/layout/page.tsx'
import { NotFoundPage } from '../pages/not-found-page.tsx'
import { CommandPalette } from './command-palette.tsx'
import { DemoBanner } from './demo-banner.tsx'
import { SiteLayout } from './site-layout.tsx'

interface RouterContext {
  queryClient: QueryClient
}

/** The parent of every page's route. */
export const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: RootLayout,
  notFoundComponent: () => (
    <SiteLayout>
      <NotFoundPage />
    </SiteLayout>
  ),
})

/** Around every page: the link past the navigation, and the notice that a navigation has begun. */
function RootLayout() {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
        if (fromLocation && pathChanged) noteNavigation()
      }),
    [router],
  )
  return (
    <CommandPalette>
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 rounded-md bg-primary px-4 py-2 text-on-primary not-focus:-top-20"
      >
        Skip to the content
      </a>
      <DemoBanner />
      <Outlet />
    </CommandPalette>
  )
}
