import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { messageOf, requestJson } from '../api/request.ts'
import { switchSession } from '../api/session.ts'
import { useLiveAccount } from '../api/use-live-account.ts'
import { Note } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { Money, MoneyPlace } from '../components/text/money.tsx'
import { dropDrafts } from '../lib/form-drafts.ts'
import { forgetHistory } from '../lib/playground/kept-history.ts'
import { accountPages } from './account-pages.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { InvitationNotes } from './invitation-notes.tsx'
import { SideFrame } from './side-frame.tsx'

/** The frame of an account's pages, kept up to date by live events. */
export function AccountLayout() {
  const { data: session } = useQuery(sessionQuery)
  const client = useQueryClient()
  const router = useRouter()
  const pages = useMemo(() => accountPages(session), [session])
  useLiveAccount(session?.account.id)
  const signOut = async () => {
    // What a page is still reading would be refused.
    await client.cancelQueries()
    await requestJson('POST', '/console/api/sign-out')
    await router.navigate({ to: '/' })
    switchSession(client, null)
    dropDrafts()
    await forgetHistory()
  }
  const email = session?.person.email
  return (
    <SideFrame
      label="Account"
      pages={pages}
      head={(onNavigate) => session && <AccountSwitcher session={session} onNavigate={onNavigate} />}
      user={email === undefined ? null : { name: email, title: email }}
      hasSessionEnded={session === null}
      signOut={signOut}
      banner={
        <>
          <VerificationBanner />
          <InvitationNotes />
        </>
      }
      foot={(onNavigate) =>
        session?.permissions.includes('billing') && (
          <Link
            to="/billing"
            className="stack-tight @container rounded-md border border-line p-3 text-inherit no-underline hover:border-line-strong"
            onClick={onNavigate}
          >
            <span className="text-xs text-muted">Available</span>
            <span className="font-bold">
              <MoneyPlace value="figure">
                <Money usd={session.balance.available_usd} />
              </MoneyPlace>
            </span>
          </Link>
        )
      }
    />
  )
}

/** Asks for the verification of the email address while the free credit depends on it. */
function VerificationBanner() {
  const { data: session } = useQuery(sessionQuery)
  const resend = useMutation({ mutationFn: () => requestJson('POST', '/console/api/verification-mails') })
  if (session?.account.free_credit !== 'unverified') return null
  return (
    <Note tone={resend.error ? 'warn' : 'plain'}>
      <strong>Verify your email address to get your free credit.</strong> Open the link in the email sent to{' '}
      {session.person.email}.{' '}
      <Button size="small" disabled={resend.isPending} onClick={() => resend.mutate()}>
        Resend email
      </Button>
      <p role="status">
        {resend.isSuccess && 'Email sent. Check your spam folder, too.'}
        {resend.error && messageOf(resend.error)}
      </p>
    </Note>
  )
}
