import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import {
  Activity,
  BellRing,
  BookOpenCheck,
  ClipboardList,
  FilePenLine,
  ListTree,
  Network,
  Percent,
  Route,
  Split,
  UserCog,
  Users,
} from 'lucide-react'
import { openAlarmsQuery, operatorSessionQuery } from '../api/operator-queries.ts'
import { requestJson } from '../api/request.ts'
import { switchOperatorSession } from '../api/session.ts'
import { Badge } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { formatCount } from '../lib/format.ts'
import { useShownZone } from '../lib/time-zone.ts'
import { SideFrame } from './side-frame.tsx'

const PAGES = [
  { letter: 'o', to: '/admin', name: 'Overview', icon: Activity, group: 'Observe' },
  { letter: 'c', to: '/admin/calls', name: 'Calls', icon: Route, group: 'Observe' },
  { letter: 'w', to: '/admin/alarms', name: 'Alarms', icon: BellRing, group: 'Observe' },
  { letter: 'p', to: '/admin/providers', name: 'Providers', icon: Network, group: 'Catalog' },
  { letter: 'm', to: '/admin/models', name: 'Models & margin', icon: Percent, group: 'Catalog' },
  { to: '/admin/catalog', name: 'Overrides', icon: FilePenLine, group: 'Catalog' },
  { to: '/admin/router', name: 'Auto router', icon: Split, group: 'Catalog' },
  { letter: 'a', to: '/admin/accounts', name: 'Accounts', icon: Users, group: 'Administer' },
  { letter: 'l', to: '/admin/ledger', name: 'Ledger & audit', icon: BookOpenCheck, group: 'Administer' },
  { to: '/admin/operators', name: 'Operators', icon: UserCog, group: 'Administer' },
  { to: '/admin/actions', name: 'Audit log', icon: ClipboardList, group: 'Administer' },
] as const

/** The frame of operators' pages. */
export function OperatorLayout() {
  const { data: session } = useQuery({ ...operatorSessionQuery, refetchInterval: 60_000 })
  const openAlarms = useQuery(openAlarmsQuery).data?.open ?? 0
  const client = useQueryClient()
  const router = useRouter()
  const signOut = async () => {
    await client.cancelQueries()
    await requestJson('DELETE', '/admin/api/session')
    client.setQueryData(operatorSessionQuery.queryKey, null)
    await router.navigate({ to: '/admin/sign-in' })
    switchOperatorSession(client, null)
  }
  return (
    <SideFrame
      label="Admin"
      wide
      pages={PAGES}
      badges={{
        '/admin/alarms': openAlarms > 0 && (
          <Badge tone="bad">
            {formatCount(openAlarms)}
            <span className="sr-only"> open</span>
          </Badge>
        ),
      }}
      extraPages={{
        Observe: (
          <a href={`${BASE_PATH}/admin/queues`} className="nav-link">
            <ListTree size={18} aria-hidden="true" />
            Queues (Bull Board)
          </a>
        ),
      }}
      user={
        session
          ? {
              name: `${session.operator_name} (${session.role})`,
              detail:
                session.hint === null
                  ? 'Signed in by single sign-on'
                  : `Signed in with the key ${session.hint}`,
              signOut,
            }
          : null
      }
      hasSessionEnded={session === null}
      pageKey={useShownZone()}
    />
  )
}
