import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import {
  ChartNoAxesColumn,
  CreditCard,
  KeyRound,
  LayoutDashboard,
  LibraryBig,
  LogOut,
  MessageSquareText,
  PlugZap,
  Settings,
  Webhook,
} from 'lucide-react'
import { become } from '../api/become.ts'
import { sessionQuery } from '../api/queries.ts'
import { messageOf, requestJson } from '../api/request.ts'
import { Money } from '../components/money.tsx'
import { showToast } from '../components/toasts.tsx'

const PAGES = [
  { to: '/dashboard', name: 'Dashboard', icon: LayoutDashboard },
  { to: '/playground', name: 'Playground', icon: MessageSquareText },
  { to: '/keys', name: 'API keys', icon: KeyRound },
  { to: '/usage', name: 'Usage', icon: ChartNoAxesColumn },
  { to: '/billing', name: 'Billing', icon: CreditCard },
  { to: '/provider-keys', name: 'Provider keys', icon: PlugZap },
  { to: '/webhooks', name: 'Webhooks', icon: Webhook },
  { to: '/models', name: 'Models', icon: LibraryBig },
  { to: '/settings', name: 'Settings', icon: Settings },
] as const

/** The pages of an account, its balance, and the way out. */
export function AccountNavigation({ onNavigate }: { onNavigate?: () => void }) {
  const { data: session } = useQuery(sessionQuery)
  const signOut = useSignOut()
  return (
    <>
      <nav className="account-nav" aria-label="Account">
        <ul>
          {PAGES.map(({ to, name, icon: Icon }) => (
            <li key={to}>
              <Link to={to} className="nav-link" onClick={onNavigate}>
                <Icon size={18} aria-hidden="true" />
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {session && (
        <div className="account-foot">
          <Link to="/billing" className="balance-chip" onClick={onNavigate}>
            <span className="balance-chip-label">Available</span>
            <span className="balance-chip-amount">
              <Money usd={session.balance.available_usd} />
            </span>
          </Link>
          <div className="account-who">
            <span title={session.account.email}>{session.account.email}</span>
            <button type="button" className="button button-quiet button-icon button-small" onClick={signOut}>
              <LogOut size={17} aria-hidden="true" />
              <span className="visually-hidden">Sign out</span>
            </button>
          </div>
        </div>
      )}
    </>
  )
}

/** Ends the session, and forgets everything that was read with it. */
function useSignOut(): () => void {
  const client = useQueryClient()
  const router = useRouter()
  const run = async () => {
    try {
      await requestJson('POST', '/console/api/sign-out')
    } catch (error) {
      showToast(messageOf(error))
      return
    }
    await router.navigate({ to: '/' })
    become(client, null)
  }
  return () => void run()
}
