import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import type {
  AlarmDestinationChange,
  AlarmDestinationView,
  DestinationKind,
  NewAlarmDestination,
} from '../../../../src/core/api/alarm-destinations.ts'
import type { AlarmView } from '../../../../src/core/api/operations.ts'
import { gatewayQuery } from '../../../api/queries.ts'
import { path, requestJson } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { Note } from '../../../components/feedback/messages.tsx'
import { CheckField, SelectField } from '../../../components/form/fields.tsx'
import type { FieldSpec } from '../../../components/form/form.tsx'

type Severity = AlarmView['severity']

export const DESTINATIONS_PATH = '/admin/api/alarm-destinations'

export const KIND_NAMES: Record<DestinationKind, string> = {
  email: 'Email',
  slack: 'Slack-compatible webhook',
  pagerduty: 'PagerDuty',
}

const KINDS = Object.entries(KIND_NAMES).map(([value, name]) => ({ value, name }))

const SEVERITY = {
  label: 'Severity',
  initial: 'warning',
  options: [
    { value: 'critical', name: 'Critical only' },
    { value: 'warning', name: 'Warning and critical' },
    { value: 'info', name: 'All' },
  ] satisfies Array<{ value: Severity; name: string }>,
}

const TARGETS: Record<DestinationKind, FieldSpec> = {
  email: {
    label: 'Email address',
    placeholder: 'oncall@example.com',
    required: 'Enter a valid email address, for example oncall@example.com.',
  },
  slack: {
    label: 'Webhook URL',
    placeholder: 'https://hooks.slack.com/services/…',
    required: 'Enter the URL of an incoming webhook.',
    hint: 'An incoming webhook of Slack, Mattermost, Rocket.Chat or another chat that takes the same JSON. Encrypted at rest.',
  },
  pagerduty: {
    label: 'Integration key',
    placeholder: '32 letters and digits',
    required: 'Enter the integration key of an Events API v2 integration.',
    hint: 'In PagerDuty: Service, Integrations, Events API v2. Encrypted at rest.',
  },
}

/** Asks where alarms are to be sent. */
export function NewDestinationDialog({ onClose }: { onClose: () => void }) {
  const hasNoMail = useQuery(gatewayQuery).data?.mail === 'none'
  const [kind, setKind] = useState<DestinationKind>('slack')
  const target = TARGETS[kind]
  return (
    <FormDialog
      title="Add alarm destination"
      submit="Add destination"
      pending="Adding …"
      fields={{
        name: {
          label: 'Name',
          placeholder: 'On-call team',
          required: 'Enter a name, for example the team that reads it.',
        },
        target,
        url: {
          label: 'Events API address',
          placeholder: 'https://events.pagerduty.com/v2/enqueue',
          hint: 'Leave empty unless your account is in the EU service region.',
        },
        minimum_severity: SEVERITY,
      }}
      send={({ name, target: given, url, minimum_severity: severity }) =>
        requestJson<AlarmDestinationView>('POST', DESTINATIONS_PATH, {
          ...{ kind, name, target: given, minimum_severity: severity as Severity },
          ...(kind === 'pagerduty' && url !== '' && { url }),
        } satisfies NewAlarmDestination)
      }
      stale={[DESTINATIONS_PATH]}
      done="Destination added. Send a test to see whether it arrives."
      onClose={onClose}
    >
      {({ input }) => (
        <>
          <SelectField
            label="Type"
            value={kind}
            options={KINDS}
            onChange={(value) => setKind(value as DestinationKind)}
          />
          {kind === 'email' && hasNoMail && (
            <Note tone="warn">Email is not configured on this gateway: set SMTP_URL first.</Note>
          )}
          {input('name')}
          <Fragment key={kind}>{input('target')}</Fragment>
          {kind === 'pagerduty' && input('url')}
          {input('minimum_severity')}
        </>
      )}
    </FormDialog>
  )
}

/** Changes a destination, except what it sends to. */
export function DestinationDialog(props: { destination: AlarmDestinationView; onClose: () => void }) {
  const { destination, onClose } = props
  const [enabled, setEnabled] = useState(destination.enabled)
  return (
    <FormDialog
      title={`Edit “${destination.name}”`}
      submit="Save"
      fields={{
        name: { label: 'Name', initial: destination.name, required: 'Enter a name.' },
        minimum_severity: { ...SEVERITY, initial: destination.minimum_severity },
      }}
      send={({ name, minimum_severity: severity }) =>
        requestJson<AlarmDestinationView>('PATCH', path`/admin/api/alarm-destinations/${destination.id}`, {
          ...{ name, minimum_severity: severity as Severity, enabled },
        } satisfies AlarmDestinationChange)
      }
      stale={[DESTINATIONS_PATH]}
      done="Destination saved."
      onClose={onClose}
      foot={
        <CheckField
          label="Enabled"
          checked={enabled}
          onChange={setEnabled}
          hint="Disabled: nothing is sent, and what waits is dropped."
        />
      }
    >
      <p className="text-sm text-muted">
        {KIND_NAMES[destination.kind]}: <code className="wrap-anywhere">{destination.target}</code>. To change
        the target, add another destination and delete this one.
      </p>
    </FormDialog>
  )
}
