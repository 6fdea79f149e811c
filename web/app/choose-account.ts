import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { ActOnBody, SessionView } from '../../src/core/api/sessions.ts'
import { requestJson } from '../api/request.ts'
import { putSession } from '../api/session.ts'
import { useAction } from '../api/use-change.ts'

/** Shows the account of a changed session, from its dashboard on. */
export function useShownAccount(onShown: (() => void) | undefined) {
  const client = useQueryClient()
  const router = useRouter()
  return (session: SessionView) => {
    putSession(client, session)
    void router.navigate({ to: '/dashboard' })
    onShown?.()
  }
}

/** Has every page be about another account of the person. */
export const useChosenAccount = (onShown: (() => void) | undefined) =>
  useAction({
    send: (id: string) =>
      requestJson<SessionView>('POST', '/console/api/session/account', {
        account_id: id,
      } satisfies ActOnBody),
    onDone: useShownAccount(onShown),
  })
