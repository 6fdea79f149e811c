import './styles/console.css'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type AnyRoute, RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { operatorSessionQuery } from './api/operator-queries.ts'
import { visitorQuery } from './api/queries.ts'
import { noteShownAccount, RequestFailure, SHOWN_ACCOUNT_HEADER } from './api/request.ts'
import { putSession } from './api/session.ts'
import { createConsoleRouter } from './app/router.tsx'
import { applyTheme } from './app/theme.tsx'
import { noteDraftOwner } from './lib/form-drafts.ts'

applyTheme()

const queryClient = createConsoleQueryClient()
const router = createConsoleRouter(queryClient)
// The code of the page is asked for before its frame is drawn, not after.
const routes: Record<string, AnyRoute> = router.routesById
for (const { routeId } of router.matchRoutes(router.latestLocation))
  void routes[routeId]?.options.component?.preload?.()

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)

const TRIES = 2

/** Error codes of operators' routes without a session, or after its admin key was revoked. */
const OPERATOR_SIGNED_OUT = new Set(['missing_api_key', 'invalid_api_key', 'key_revoked'])

/** The cache of all responses. A 401 anywhere means that the session has ended. */
function createConsoleQueryClient(): QueryClient {
  const detectSignOut = (error: Error) => {
    if (!(error instanceof RequestFailure)) return
    if (error.status === 401 && error.code === 'not_signed_in') putSession(client, null)
    if (error.param === SHOWN_ACCOUNT_HEADER)
      void client.invalidateQueries({ queryKey: visitorQuery.queryKey })
    if (OPERATOR_SIGNED_OUT.has(error.code)) client.setQueryData(operatorSessionQuery.queryKey, null)
  }
  const client = new QueryClient({
    queryCache: new QueryCache({ onError: detectSignOut }),
    mutationCache: new MutationCache({ onError: detectSignOut }),
    defaultOptions: {
      // Without a network a request fails at once, instead of waiting for one.
      queries: {
        networkMode: 'always',
        staleTime: 5_000,
        retry: isWorthRetrying,
        refetchOnWindowFocus: true,
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
  client.getQueryCache().subscribe(({ query }) => {
    if (query.queryKey[0] !== visitorQuery.queryKey[0]) return
    const session = client.getQueryData(visitorQuery.queryKey)?.session
    noteShownAccount(session?.account.id ?? null)
    if (session === undefined) return
    noteDraftOwner(session?.person.id ?? null)
  })
  return client
}

/** Retries requests without a response and those that failed with a 5xx; a refusal would be repeated. */
const isWorthRetrying = (tries: number, error: Error): boolean =>
  tries < TRIES && error instanceof RequestFailure && (error.status === 0 || error.status >= 500)
