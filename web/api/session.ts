import type { QueryClient } from '@tanstack/react-query'
import type { OperatorSession, SessionView } from '../../src/core/api/sessions.ts'
import { noteSignedIn } from '../lib/signed-in-hint.ts'
import { operatorSessionQuery } from './operator-queries.ts'
import { visitorQuery } from './queries.ts'
import { isRead } from './read.ts'

/**
 * Signs the page in, or out with null, and removes all data of the former session. The session query is updated rather
 * than removed, so that its observers are notified.
 */
export function switchSession(client: QueryClient, session: SessionView | null): void {
  client.getMutationCache().clear()
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== visitorQuery.queryKey[0] })
  client.setQueryData(visitorQuery.queryKey, (visitor) => visitor && { ...visitor, session, invitations: [] })
  if (session) void client.invalidateQueries({ queryKey: visitorQuery.queryKey })
  noteSignedIn(session !== null)
}

/** The session has changed; what it belongs to has not. */
export const putSession = (client: QueryClient, session: SessionView | null): void =>
  void client.setQueryData(visitorQuery.queryKey, (visitor) => visitor && { ...visitor, session })

/** Resets every read of the account except the session, which now acts on another account. */
export const resetAccount = (client: QueryClient): Promise<void> =>
  client.resetQueries({
    predicate: ({ queryKey }) =>
      isRead('/console/api')({ queryKey }) && queryKey[0] !== visitorQuery.queryKey[0],
  })

/** The same for an operator; queries of an account in the same browser stay. */
export function switchOperatorSession(client: QueryClient, session: OperatorSession | null): void {
  client.removeQueries({
    predicate: (query) =>
      isRead('/admin/api')(query) && query.queryKey[0] !== operatorSessionQuery.queryKey[0],
  })
  client.setQueryData(operatorSessionQuery.queryKey, session)
}
