import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'
import { RequestFailure } from '../api/request.ts'

const TRIES = 2

/** The one cache of what the gateway answered. A 401 anywhere means that the session has ended. */
export function createConsoleQueryClient(): QueryClient {
  const noticeSignOut = (error: Error) => {
    const ended = error instanceof RequestFailure && error.status === 401 && error.code === 'not_signed_in'
    if (ended) client.setQueryData(sessionQuery.queryKey, null)
  }
  const client = new QueryClient({
    queryCache: new QueryCache({ onError: noticeSignOut }),
    mutationCache: new MutationCache({ onError: noticeSignOut }),
    defaultOptions: {
      queries: { staleTime: 5_000, retry: isWorthRetrying, refetchOnWindowFocus: true },
      mutations: { retry: false },
    },
  })
  return client
}

/** No answer, or one that says "later": again. What was refused would be refused again. */
const isWorthRetrying = (tries: number, error: Error): boolean =>
  tries < TRIES && error instanceof RequestFailure && (error.status === 0 || error.status >= 500)
