import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { InvitationAnswer, ReceivedInvitationView } from '../../src/core/api/organisations.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { gatewayQuery, invitationQuery, sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { putSession } from '../api/session.ts'
import { useChange } from '../api/use-change.ts'
import { ErrorNote, Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { ROLES } from './organisation/roles.ts'

/** The token of the invitation that a person chose to sign in for, which then counts as accepted; kept by this page alone. */
let acceptedToken: string | null = null

/** The target of the link in an invitation. The token is in the fragment and is kept while the person signs in. */
export function InvitationPage() {
  const token = useLocation({ select: ({ hash }) => hash })
  const query = useQuery({ ...invitationQuery(token), enabled: token !== '' })
  return (
    <CenterPage title="Join an organisation">
      {token === '' ? (
        <Note tone="warn">This link is incomplete. Open the full link from the invitation.</Note>
      ) : (
        <QueryView query={query}>
          {(invitation) => <Answer invitation={invitation} token={token} />}
        </QueryView>
      )}
    </CenterPage>
  )
}

function Answer({ invitation, token }: { invitation: ReceivedInvitationView; token: string }) {
  const { organisation, role, email, invited_by: inviter } = invitation
  const { data: session } = useQuery(sessionQuery)
  const { data: gateway } = useQuery(gatewayQuery)
  const client = useQueryClient()
  const router = useRouter()
  const accept = useChange({
    send: () =>
      requestJson<SessionView>('POST', '/console/api/invitations/accept', {
        token,
      } satisfies InvitationAnswer),
    done: `You are a member of ${organisation}.`,
    onDone: (joined) => {
      putSession(client, joined)
      void router.navigate({ to: '/dashboard' })
    },
  })
  const isUnverified = gateway?.mail === 'smtp' && session?.person.email_verified === false
  const mayAccept = session?.person.email === email && !isUnverified
  const { mutate } = accept
  useEffect(() => {
    if (!mayAccept || acceptedToken !== token) return
    acceptedToken = null
    mutate()
  }, [mayAccept, token, mutate])
  const signIn = () => {
    acceptedToken = token
  }
  const next = { onClick: signIn, search: { next: '/invitation' }, hash: token }
  return (
    <>
      <p className="wrap-anywhere">
        {inviter} invites <strong>{email}</strong> to <strong>{organisation}</strong>. Role:{' '}
        {ROLES[role].name}. {ROLES[role].may}.
      </p>
      <ErrorNote error={accept.error} />
      {session ? (
        <>
          {session.person.email !== email && (
            <Note tone="warn">
              You are signed in as {session.person.email}. Sign out, and sign in with {email} to accept.
            </Note>
          )}
          {session.person.email === email && isUnverified && (
            <Note tone="warn">
              Verify your address first: open the link in the message that we sent to {email}. Then return to
              this page.
            </Note>
          )}
          <Button
            kind="primary"
            size="large"
            disabled={accept.isPending || !mayAccept}
            onClick={() => accept.mutate()}
          >
            {accept.isPending ? 'Joining …' : 'Accept invitation'}
          </Button>
        </>
      ) : (
        <p className="row">
          <Link to="/sign-up" {...next} className="button button-primary">
            Create account
          </Link>
          <Link to="/sign-in" {...next} className="button">
            Sign in
          </Link>
        </p>
      )}
    </>
  )
}
