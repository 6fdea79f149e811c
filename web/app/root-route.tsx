import { type QueryClient, useQuery } from '@tanstack/react-query'
import { createRootRouteWithContext, Outlet, useRouter } from '@tanstack/react-router'
import { FlaskConical } from 'lucide-react'
import { useEffect } from 'react'
import type { GatewayView } from '../../src/core/api/gateway.ts'
import { gatewayQuery } from '../api/queries.ts'
import { noteNavigation } from '../components/layout/page.tsx'
import { NotFoundPage } from '../pages/not-found-page.tsx'
import { CommandPalette } from './command-palette.tsx'
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
        className="skip-link fixed top-2 left-2 z-50 rounded-md bg-primary px-4 py-2 text-on-primary not-focus:-top-20"
      >
        Skip to the content
      </a>
      <DemoBanner />
      <Outlet />
    </CommandPalette>
  )
}

/** Each part but the first needs more room than the one before, so that the banner is one line everywhere. */
const TEXTS: Record<Exclude<GatewayView['answers'], 'real'>, readonly [string, string, string]> = {
  simulated: [
    'answers are simulated',
    ', not written by the models.',
    ' With real provider keys the models answer.',
  ],
  mixed: [
    'some answers are simulated',
    ': those of models without a connected provider.',
    ' With its key they come from the model.',
  ],
}

/** Says on every page that completions are made up, while they are. The document knows it first: nothing moves. */
function DemoBanner() {
  const { data: gateway } = useQuery(gatewayQuery)
  const answers = gateway?.answers ?? document.documentElement.dataset.answers
  if (answers !== 'simulated' && answers !== 'mixed') return null
  const [text, rest, more] = TEXTS[answers]
  return (
    <aside className="demo-banner" aria-label="Demo mode">
      <FlaskConical size={16} aria-hidden="true" />
      <p>
        <strong>Demo mode:</strong> {text}
        <span className="max-sm:sr-only">{rest}</span>
        <span className="max-xl:sr-only">{more}</span>
      </p>
    </aside>
  )
}
