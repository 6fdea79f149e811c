import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import {
  Activity,
  BellRing,
  BookOpenCheck,
  ClipboardList,
  FilePenLine,
  ListTree,
  LogOut,
  Network,
  Percent,
  Route,
  Users,
} from 'lucide-react'
import { useLiveBoard } from '../api/live-board.tsx'
import { OPERATOR_API, operatorSessionQuery } from '../api/operator-queries.ts'
import { messageOf, requestJson } from '../api/request.ts'
import { Badge } from '../components/badge.tsx'
import { showToast } from '../components/toasts.tsx'
import { formatCount } from '../lib/figures.ts'
import { ThemeMenu } from './theme-menu.tsx'

const PAGES = [
  { to: '/admin', name: 'Overview', icon: Activity },
  { to: '/admin/calls', name: 'Calls', icon: Route },
  { to: '/admin/providers', name: 'Providers', icon: Network },
  { to: '/admin/accounts', name: 'Accounts', icon: Users },
  { to: '/admin/models', name: 'Models and margin', icon: Percent },
  { to: '/admin/catalog', name: 'Catalog edits', icon: FilePenLine },
  { to: '/admin/ledger', name: 'Ledger and audit', icon: BookOpenCheck },
  { to: '/admin/alarms', name: 'Alarms', icon: BellRing },
  { to: '/admin/actions', name: 'Actions', icon: ClipboardList },
] as const

/** The pages for operators, who is signed in, and the way out. */
export function OperatorNavigation({ onNavigate }: { onNavigate?: () => void }) {
  const { data: session } = useQuery(operatorSessionQuery)
  const { view } = useLiveBoard()
  const signOut = useSignOut()
  const alarms = view?.open_alarms ?? 0
  return (
    <>
      <nav className="account-nav" aria-label="Operators">
        <ul>
          {PAGES.map(({ to, name, icon: Icon }) => (
            <li key={to}>
              <Link
                to={to}
                className="nav-link"
                activeOptions={{ exact: to === '/admin', includeSearch: false }}
                onClick={onNavigate}
              >
                <Icon size={18} aria-hidden="true" />
                {name}
                {to === '/admin/alarms' && alarms > 0 && (
                  <Badge tone="bad">
                    {formatCount(alarms)}
                    <span className="visually-hidden"> open</span>
                  </Badge>
                )}
              </Link>
            </li>
          ))}
          <li>
            <a href="/admin/queues" className="nav-link">
              <ListTree size={18} aria-hidden="true" />
              Queues (Bull Board)
            </a>
          </li>
        </ul>
      </nav>
      <div className="account-foot">
        <ThemeMenu />
        {session && (
          <div className="account-who">
            <span title={`Signed in with the key ${session.hint}`}>{session.key_name || session.hint}</span>
            <button type="button" className="button button-quiet button-icon button-small" onClick={signOut}>
              <LogOut size={17} aria-hidden="true" />
              <span className="visually-hidden">Sign out</span>
            </button>
          </div>
        )}
      </div>
    </>
  )
}

/** Ends the operator's session, and forgets everything that was read with it. */
function useSignOut(): () => void {
  const client = useQueryClient()
  const router = useRouter()
  const run = async () => {
    try {
      await requestJson('DELETE', `${OPERATOR_API}/session`)
    } catch (error) {
      showToast(messageOf(error))
      return
    }
    client.setQueryData(operatorSessionQuery.queryKey, null)
    await router.navigate({ to: '/admin/sign-in' })
    client.removeQueries({
      predicate: ({ queryKey }) => queryKey[0] === 'operator' && queryKey[1] !== 'session',
    })
  }
  return () => void run()
}
