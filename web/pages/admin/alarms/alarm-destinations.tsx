import { useQuery } from '@tanstack/react-query'
import type { AlarmDestinationView, DestinationKind } from '../../../../src/core/api/alarm-destinations.ts'
import { alarmDestinationsQuery } from '../../../api/operator-queries.ts'
import { path, requestJson } from '../../../api/request.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { Badge, StateBadge } from '../../../components/text/values.tsx'
import { formatMoment, plural } from '../../../lib/format.ts'
import { OperatorButton } from '../operator-button.tsx'

/** Where alarms are sent: mail, chat, PagerDuty. */
export const AlarmDestinations = () => (
  <Panel title="Destinations">
    <p className="px-inset pt-2 text-sm text-muted">
      Alarms are sent here when they open, are acknowledged and are resolved. Many at once come in one
      message. Set under <code>alarms</code> in the file of <code>npm run apply</code>.
    </p>
    <QueryView query={useQuery(alarmDestinationsQuery)}>
      {({ data }) => <DestinationTable destinations={data} />}
    </QueryView>
  </Panel>
)

const KIND_NAMES: Record<DestinationKind, string> = {
  email: 'Email',
  slack: 'Slack-compatible webhook',
  pagerduty: 'PagerDuty',
}

const DestinationTable = ({ destinations }: { destinations: readonly AlarmDestinationView[] }) => (
  <DataTable
    caption="Alarm destinations"
    rows={destinations}
    empty="No destinations yet. Alarms are shown in the console only."
    columns={{
      Destination: ({ name, kind, target }) => (
        <TwoLines second={<span className="wrap-anywhere">{`${KIND_NAMES[kind]}: ${target}`}</span>}>
          {name}
        </TwoLines>
      ),
      Severity: ({ minimum_severity: severity }) => (
        <span className="row gap-2">
          <StateBadge state={severity} />
          {severity !== 'critical' && <span className="text-sm text-muted">and above</span>}
        </span>
      ),
      State: (destination) => <DestinationState destination={destination} />,
      'Last message': (destination) => <LastMessage destination={destination} />,
      Actions: (destination) => <TestButton destination={destination} />,
    }}
  />
)

function TestButton({ destination: { id, name, enabled } }: { destination: AlarmDestinationView }) {
  return (
    <OperatorButton
      needs="settings.write"
      size="small"
      about={`to ${name}`}
      disabled={!enabled}
      action={{
        send: () => requestJson('POST', path`/admin/api/alarm-destinations/${id}/test`),
        stale: ['/admin/api/alarm-destinations'],
        done: 'Test queued. Whether it arrived is shown under Last message.',
      }}
    >
      Send test
    </OperatorButton>
  )
}

function DestinationState({ destination }: { destination: AlarmDestinationView }) {
  if (!destination.enabled) return <Badge>disabled</Badge>
  return destination.failing_since === null ? (
    <Badge tone="good">enabled</Badge>
  ) : (
    <StateBadge state="failing" />
  )
}

function LastMessage({ destination }: { destination: AlarmDestinationView }) {
  const { delivered_at: delivered, error, waiting, next_attempt_at: next } = destination
  return (
    <span className="stack-tight">
      <span>{delivered === null ? 'none yet' : `delivered ${formatMoment(delivered)}`}</span>
      {error !== null && <span className="text-sm wrap-anywhere text-bad">{error}</span>}
      {waiting > 0 && (
        <span className="text-sm text-muted">
          {plural(waiting, 'notice')} waiting
          {next !== null && `, next attempt ${formatMoment(next)}`}
        </span>
      )}
    </span>
  )
}
