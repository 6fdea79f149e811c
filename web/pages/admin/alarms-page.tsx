import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { BellOff } from 'lucide-react'
import type { AlarmView } from '../../../src/core/api/operations.ts'
import { alarmsQuery } from '../../api/operator-queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { ChoiceField } from '../../components/form/fields.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { StateBadge } from '../../components/text/values.tsx'
import { formatCount, formatMoment } from '../../lib/format.ts'
import { OperatorButton } from './operator-button.tsx'
import { ActorName } from './operators/audit-log.tsx'

const WHICH = [
  { value: 'open', name: 'Open' },
  { value: 'all', name: 'All' },
]

/** Events that a person should look at, and who acknowledged them. */
export function AlarmsPage() {
  const { state } = useSearch({ from: '/operator/admin/alarms' })
  const which = state === 'all' ? 'all' : 'open'
  const navigate = useNavigate({ from: '/admin/alarms' })
  return (
    <>
      <PageHead
        title="Alarms"
        description="Events that need attention. Repeats are counted; an alarm that is raised again after it was acknowledged is a new one."
        actions={
          <Link to="/admin/alarms/destinations" className="button">
            Destinations
          </Link>
        }
      />
      <div className="toolbar">
        <ChoiceField
          label="Show"
          value={which}
          options={WHICH}
          onChange={(value) =>
            void navigate({ search: value === 'all' ? { state: 'all' } : {}, replace: true })
          }
        />
      </div>
      <ListPanel
        title={which === 'open' ? 'Open alarms' : 'All alarms'}
        query={alarmsQuery(which)}
        icon={BellOff}
        empty={which === 'open' ? 'No open alarms.' : 'No alarms yet.'}
      >
        {(alarms) => <AlarmTable alarms={alarms} />}
      </ListPanel>
    </>
  )
}

const AlarmTable = ({ alarms }: { alarms: readonly AlarmView[] }) => (
  <DataTable
    caption="Alarms"
    rows={alarms}
    title="Alarm"
    columns={{
      Severity: ({ severity }) => <StateBadge state={severity} />,
      Alarm: (alarm) => <Summary alarm={alarm} />,
      Count: ({ count }) => formatCount(count),
      'Last / first': (alarm) => (
        <TwoLines nowrap second={formatMoment(alarm.first_at)}>
          {formatMoment(alarm.last_at)}
        </TwoLines>
      ),
      State: (alarm) => <State alarm={alarm} />,
      Actions: (alarm) =>
        alarm.acknowledged_at === null && (
          <OperatorButton
            needs="operations.write"
            size="small"
            about={alarm.kind}
            action={{
              send: () => requestJson('POST', path`/admin/api/alarms/${alarm.id}/acknowledge`),
              stale: ['/admin/api/alarms'],
              done: 'Alarm acknowledged.',
            }}
          >
            Acknowledge
          </OperatorButton>
        ),
    }}
    numeric={['Count']}
    long={['Alarm']}
  />
)

/** What happened, where to look, and what is known of the last time. */
function Summary({ alarm }: { alarm: AlarmView }) {
  const fields = Object.entries(alarm.fields).filter(([, value]) => value !== null)
  return (
    <span className="stack-tight">
      <span className="wrap-anywhere">{alarm.summary}</span>
      <span className="row gap-3 text-sm">
        <code>{alarm.kind}</code>
        <Link to={alarm.page}>
          Open<span className="sr-only"> what this alarm is about: {alarm.subject}</span>
        </Link>
        <Link to="/admin/runbook" hash={alarm.kind}>
          Runbook<span className="sr-only"> entry of {alarm.kind}</span>
        </Link>
      </span>
      {fields.length > 0 && (
        <details className="text-sm">
          <summary>Details</summary>
          <span className="wrap-anywhere text-muted">
            {fields.map(([name, value]) => `${name}: ${value}`).join('; ')}
          </span>
        </details>
      )}
    </span>
  )
}

function State({ alarm }: { alarm: AlarmView }) {
  const { acknowledged_at: acknowledged, acknowledged_by: by, resolved_at: resolved } = alarm
  return (
    <span className="stack-tight text-sm">
      {resolved === null ? (
        <StateBadge state={acknowledged === null ? 'open' : 'acknowledged'} />
      ) : (
        <span className="stack-tight">
          <StateBadge state="resolved" />
          <span className="whitespace-nowrap text-muted">{formatMoment(resolved)}</span>
        </span>
      )}
      {acknowledged !== null && (
        <span className="text-muted">
          acknowledged {formatMoment(acknowledged)} by {by && <ActorName actor={by} />}
        </span>
      )}
    </span>
  )
}
