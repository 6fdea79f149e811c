import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazyPart } from '../../api/lazy-part.ts'
import { alarmsQuery } from '../../api/operator-queries.ts'
import { ChoiceField } from '../../components/form/fields.tsx'
import { LinkTabs } from '../../components/layout/link-tabs.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { ListPanel } from '../../components/table/data-table.tsx'
import { AlarmDestinations } from './alarms/alarm-destinations.tsx'
import { AlarmTable } from './alarms/alarm-table.tsx'

const WHICH = [
  { value: 'open', name: 'Open' },
  { value: 'all', name: 'All' },
]

const Runbook = lazyPart(async () => (await import('./alarms/runbook.tsx')).Runbook)

/** Events that a person should look at, where they are sent, and what to do about each kind. */
export function AlarmsPage() {
  const { tab } = useSearch({ from: '/operator/admin/alarms' })
  return (
    <>
      <PageHead
        title="Alarms"
        description="Events that need attention. Repeats are counted; an alarm that is raised again after it was acknowledged is a new one."
      />
      <LinkTabs
        label="Parts of the alarms"
        tab={tab}
        parts={{
          Alarms: <Alarms />,
          Destinations: <AlarmDestinations />,
          Runbook: <Runbook />,
        }}
      />
    </>
  )
}

/** The alarms, and who acknowledged them. */
function Alarms() {
  const { state } = useSearch({ from: '/operator/admin/alarms' })
  const which = state === 'all' ? 'all' : 'open'
  const navigate = useNavigate({ from: '/admin/alarms' })
  return (
    <ListPanel
      title={which === 'open' ? 'Open alarms' : 'All alarms'}
      actions={
        <ChoiceField
          label="Show"
          value={which}
          options={WHICH}
          onChange={(value) =>
            void navigate({ search: (kept) => ({ ...kept, state: value }), replace: true })
          }
        />
      }
      query={alarmsQuery(which)}
      empty={which === 'open' ? 'No open alarms.' : 'No alarms yet.'}
    >
      {(alarms) => <AlarmTable alarms={alarms} />}
    </ListPanel>
  )
}
