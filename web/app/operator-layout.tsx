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
import { TimeZoneField } from '../components/form/time-zone-field.tsx'
import { Badge } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { formatCount } from '../lib/format.ts'
import { useShownZone } from '../lib/time-zone.ts'
import { SideFrame } from './side-frame.tsx'
import { ThemeMenu } from './theme.tsx'

const PAGES = [
  { to: '/admin', name: 'Overview', icon: Activity },
  { to: '/admin/calls', name: 'Calls', icon: Route },
  { to: '/admin/providers', name: 'Providers', icon: Network },
  { to: '/admin/accounts', name: 'Accounts', icon: Users },
  { to: '/admin/models', name: 'Models & margin', icon: Percent },
  { to: '/admin/catalog', name: 'Catalog overrides', icon: FilePenLine },
  { to: '/admin/router', name: 'Auto router', icon: Split },
  { to: '/admin/ledger', name: 'Ledger & audit', icon: BookOpenCheck },
  { to: '/admin/alarms', name: 'Alarms', icon: BellRing },
  { to: '/admin/operators', name: 'Operators', icon: UserCog },
  { to: '/admin/actions', name: 'Audit log', icon: ClipboardList },
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
      extraPage={
        <a href={`${BASE_PATH}/admin/queues`} className="nav-link">
          <ListTree size={18} aria-hidden="true" />
          Queues (Bull Board)
        </a>
      }
      user={
        session
          ? {
              name: `${session.operator_name} (${session.role})`,
              title:
                session.hint === null
                  ? 'Signed in by single sign-on'
                  : `Signed in with the key ${session.hint}`,
            }
          : null
      }
      hasSessionEnded={session === null}
      signOut={signOut}
      pageKey={useShownZone()}
      foot={() => (
        <div className="stack gap-3 pl-3">
          <ThemeMenu />
          <TimeZoneField />
        </div>
      )}
    />
  )
}
