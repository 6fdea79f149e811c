import type { QueryClient } from '@tanstack/react-query'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { sessionQuery } from './queries.ts'

/**
 * Forgets everything that was read or sent as somebody else, and is this one from now on; null: nobody. The session
 * itself is changed and not removed, so that what shows it hears of it.
 */
export function become(client: QueryClient, session: SessionView | null): void {
  client.getMutationCache().clear()
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
  client.setQueryData(sessionQuery.queryKey, session)
}
