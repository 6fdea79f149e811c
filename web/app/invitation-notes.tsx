import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { InvitationAnswer, ReceivedInvitationView } from '../../src/core/api/organisations.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { invitationsQuery, sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { useAction } from '../api/use-change.ts'
import { Note } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { ROLES } from '../pages/organisation/roles.ts'

const STALE = ['/console/api/invitations']

/** Asks whoever is signed in about invitations that were sent to their address. */
export function InvitationNotes() {
  const { data } = useQuery(invitationsQuery)
  return data?.data.map((invitation) => <InvitationNote key={invitation.id} invitation={invitation} />)
}

function InvitationNote({ invitation }: { invitation: ReceivedInvitationView }) {
  const { id, organisation, role, invited_by: inviter } = invitation
  const client = useQueryClient()
  const accept = useAction({
    send: () =>
      requestJson<SessionView>('POST', '/console/api/invitations/accept', { id } satisfies InvitationAnswer),
    stale: STALE,
    done: `You are a member of ${organisation}.`,
    onDone: (session) => client.setQueryData(sessionQuery.queryKey, session),
  })
  const decline = useAction({
    send: () => requestJson('POST', '/console/api/invitations/decline', { id } satisfies InvitationAnswer),
    stale: STALE,
    done: 'Invitation declined.',
  })
  const isPending = accept.isPending || decline.isPending
  return (
    <Note>
      <p className="wrap-anywhere">
        {inviter} invites you to <strong>{organisation}</strong>. Your role there: {ROLES[role].name}.
      </p>
      <p className="row mt-2 gap-2">
        <Button size="small" kind="primary" disabled={isPending} onClick={() => accept.run()}>
          Accept
        </Button>
        <Button size="small" disabled={isPending} onClick={() => decline.run()}>
          Decline
        </Button>
      </p>
    </Note>
  )
}
