import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import {
  Bookmark,
  BookOpen,
  Building2,
  ChartNoAxesColumn,
  CreditCard,
  History,
  KeyRound,
  LayoutDashboard,
  LibraryBig,
  MessageSquareText,
  PlugZap,
  Settings,
  Users,
  WalletCards,
  Webhook,
} from 'lucide-react'
import { useEffect, useMemo } from 'react'
import type { Permission } from '../../src/core/accounts/member-permissions.ts'
import type { InvitationAnswer, ReceivedInvitationView } from '../../src/core/api/organisations.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { invitationsQuery, sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { putSession, switchSession } from '../api/session.ts'
import { useAction } from '../api/use-change.ts'
import { useLiveAccount } from '../api/use-live-account.ts'
import { Note } from '../components/feedback/messages.tsx'
import { ActionButton } from '../components/form/action-button.tsx'
import { Button } from '../components/form/button.tsx'
import { Money, MoneyPlace } from '../components/text/money.tsx'
import { dropDrafts } from '../lib/form-drafts.ts'
import { forgetHistory, noteHistoryOwner } from '../lib/playground/kept-history.ts'
import { ROLES } from '../pages/organisation/roles.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { SideFrame } from './side-frame.tsx'

/** The frame of an account's pages, kept up to date by live events. */
export function AccountLayout() {
  const { data: session } = useQuery(sessionQuery)
  const client = useQueryClient()
  const router = useRouter()
  const pages = useMemo(() => accountPages(session), [session])
  useLiveAccount(session?.account.id)
  const personId = session?.person.id ?? null
  useEffect(() => noteHistoryOwner(personId), [personId])
  const signOut = async () => {
    // A read that is still running would be refused after signing out.
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
      user={email === undefined ? null : { name: email, signOut }}
      hasSessionEnded={session === null}
      banner={
        <>
          <VerificationBanner />
          <InvitationNotes />
        </>
      }
      foot={(onNavigate) =>
        session?.permissions.includes('billing') && (
          <Link to="/billing" className="nav-link @container justify-between text-sm" onClick={onNavigate}>
            Available
            <span className="font-semibold text-ink">
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
  if (session?.account.free_credit !== 'unverified') return null
  return (
    <Note>
      <strong>Verify your email address to get your free credit.</strong> Open the link in the email sent to{' '}
      {session.person.email}.{' '}
      <ActionButton
        size="small"
        action={{
          send: () => requestJson('POST', '/console/api/verification-mails'),
          done: 'Email sent. Check your spam folder, too.',
        }}
      >
        Resend email
      </ActionButton>
    </Note>
  )
}

const STALE = ['/console/api/visitor']

/** Shows the invitations that were sent to the address of the signed-in person. */
export function InvitationNotes() {
  const { data } = useQuery(invitationsQuery)
  return data?.map((invitation) => <InvitationNote key={invitation.id} invitation={invitation} />)
}

function InvitationNote({ invitation }: { invitation: ReceivedInvitationView }) {
  const { id, organisation, role, invited_by: inviter } = invitation
  const client = useQueryClient()
  const accept = useAction({
    send: () =>
      requestJson<SessionView>('POST', '/console/api/invitations/accept', { id } satisfies InvitationAnswer),
    stale: STALE,
    done: `You are a member of ${organisation}.`,
    onDone: (session) => putSession(client, session),
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

/** `needs`: the permission that a page requires. `ofOrganisation`: only organisations have the page. */
const PAGES = [
  { letter: 'd', to: '/dashboard', name: 'Dashboard', icon: LayoutDashboard, group: 'Build' },
  {
    letter: 'p',
    to: '/playground',
    name: 'Playground',
    icon: MessageSquareText,
    group: 'Build',
    needs: 'keys',
  },
  { letter: 'k', to: '/keys', name: 'API keys', icon: KeyRound, group: 'Build', needs: 'keys' },
  { to: '/presets', name: 'Presets', icon: Bookmark, group: 'Build', needs: 'keys' },
  { letter: 'm', to: '/models', name: 'Models', icon: LibraryBig, group: 'Build' },
  { to: '/docs', name: 'Docs', icon: BookOpen, group: 'Build' },
  { letter: 'u', to: '/usage', name: 'Usage', icon: ChartNoAxesColumn, group: 'Observe' },
  { to: '/activity', name: 'Activity', icon: History, group: 'Observe', needs: 'activity' },
  { to: '/webhooks', name: 'Webhooks', icon: Webhook, group: 'Observe', needs: 'view_integrations' },
  { letter: 'b', to: '/billing', name: 'Billing', icon: CreditCard, group: 'Account', needs: 'billing' },
  { to: '/budgets', name: 'Budgets', icon: WalletCards, group: 'Account', needs: 'usage' },
  {
    to: '/provider-keys',
    name: 'Provider keys',
    icon: PlugZap,
    group: 'Account',
    needs: 'view_integrations',
  },
  { to: '/members', name: 'Members', icon: Users, group: 'Account', ofOrganisation: true },
  { to: '/organisation', name: 'Organisation', icon: Building2, group: 'Account', ofOrganisation: true },
  { letter: 's', to: '/settings', name: 'Settings', icon: Settings, group: 'Account' },
] as const satisfies ReadonlyArray<{
  to: string
  name: string
  letter?: string
  icon: typeof Settings
  group: 'Build' | 'Observe' | 'Account'
  needs?: Permission
  ofOrganisation?: boolean
}>

/** The pages of the session's account that the person's role may use. */
export function accountPages(session: SessionView | null | undefined) {
  return PAGES.filter((page) => {
    if ('ofOrganisation' in page && !session?.account.is_organisation) return false
    return !('needs' in page) || !session || session.permissions.includes(page.needs)
  })
}
