import type { QueryClient } from '@tanstack/react-query'
import type { OperatorSession, SessionView } from '../../src/core/api/sessions.ts'
import { noteSignedIn } from '../lib/signed-in-hint.ts'
import { operatorSessionQuery } from './operator-queries.ts'
import { sessionQuery } from './queries.ts'
import { isRead } from './read.ts'

/**
 * Signs the page in, or out with null, and removes all data of the former session. The session query is updated rather
 * than removed, so that its observers are notified.
 */
export function switchSession(client: QueryClient, session: SessionView | null): void {
  client.getMutationCache().clear()
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
  client.setQueryData(sessionQuery.queryKey, session)
  noteSignedIn(session !== null)
}

/** Resets every read of the account except the session, which now acts on another account. */
export const resetAccount = (client: QueryClient): Promise<void> =>
  client.resetQueries({
    predicate: ({ queryKey }) =>
      isRead('/console/api')({ queryKey }) && queryKey[0] !== sessionQuery.queryKey[0],
  })

/** The same for an operator; queries of an account in the same browser stay. */
export function switchOperatorSession(client: QueryClient, session: OperatorSession | null): void {
  client.removeQueries({
    predicate: (query) =>
      isRead('/admin/api')(query) && query.queryKey[0] !== operatorSessionQuery.queryKey[0],
  })
  client.setQueryData(operatorSessionQuery.queryKey, session)
}
