import { useQuery } from '@tanstack/react-query'
import { BellPlus, Plus } from 'lucide-react'
import type { AlarmDestinationView } from '../../../src/core/api/alarm-destinations.ts'
import { alarmDestinationsQuery } from '../../api/operator-queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { EmptyState, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Badge, StateBadge } from '../../components/text/values.tsx'
import { formatMoment, plural } from '../../lib/format.ts'
import {
  DESTINATIONS_PATH,
  DestinationDialog,
  KIND_NAMES,
  NewDestinationDialog,
} from './alarms/alarm-destination-dialogs.tsx'
import { OperatorButton } from './operator-button.tsx'

/** Where alarms are sent: mail, chat, PagerDuty. */
export function AlarmDestinationsPage() {
  const query = useQuery(alarmDestinationsQuery)
  const add = (
    <OperatorButton
      icon={Plus}
      needs="settings.write"
      kind="primary"
      dialog={(close) => <NewDestinationDialog onClose={close} />}
    >
      Add destination
    </OperatorButton>
  )
  return (
    <>
      <PageHead
        title="Alarm destinations"
        description="Alarms are sent here when they open, are acknowledged and are resolved. Many at once come in one message."
        actions={add}
      />
      <Panel title="Destinations">
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <EmptyState icon={BellPlus} action={add}>
                No destinations yet. Alarms are shown in the console only.
              </EmptyState>
            ) : (
              <DestinationTable destinations={data} />
            )
          }
        </QueryView>
      </Panel>
    </>
  )
}

const DestinationTable = ({ destinations }: { destinations: readonly AlarmDestinationView[] }) => (
  <DataTable
    caption="Alarm destinations"
    rows={destinations}
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
      Actions: (destination) => <DestinationActions destination={destination} />,
    }}
  />
)

function DestinationActions({ destination }: { destination: AlarmDestinationView }) {
  const { id, name, enabled } = destination
  const button = { needs: 'settings.write', size: 'small' } as const
  const stale = [DESTINATIONS_PATH]
  return (
    <span className="row justify-end gap-2">
      <OperatorButton
        {...button}
        about={`to ${name}`}
        disabled={!enabled}
        action={{
          send: () => requestJson('POST', path`/admin/api/alarm-destinations/${id}/test`),
          stale,
          done: 'Test queued. Whether it arrived is shown under Last message.',
        }}
      >
        Send test
      </OperatorButton>
      <OperatorButton
        {...button}
        about={name}
        dialog={(close) => <DestinationDialog destination={destination} onClose={close} />}
      >
        Edit
      </OperatorButton>
      <OperatorButton
        {...button}
        about={name}
        dialog={(close) => (
          <ConfirmDialog
            title={`Delete “${name}”?`}
            confirm="Delete destination"
            send={() => requestJson('DELETE', path`/admin/api/alarm-destinations/${id}`)}
            stale={stale}
            done="Destination deleted."
            onClose={close}
          >
            <p>No more alarms are sent there, including those that wait.</p>
          </ConfirmDialog>
        )}
      >
        Delete
      </OperatorButton>
    </span>
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
