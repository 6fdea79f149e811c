import { Link } from '@tanstack/react-router'
import type { AlarmView } from '../../../../src/core/api/operations.ts'
import { lazyPart } from '../../../api/lazy-part.ts'
import { path, requestJson } from '../../../api/request.ts'
import { DialogBox } from '../../../components/feedback/dialogs.tsx'
import { Button } from '../../../components/form/button.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { Code } from '../../../components/text/code.tsx'
import { StateBadge } from '../../../components/text/values.tsx'
import { formatCount, formatMoment } from '../../../lib/format.ts'
import { ActorName } from '../actor-name.tsx'
import { AccountLink } from '../links.tsx'
import { OperatorButton } from '../operator-button.tsx'

const RunbookEntry = lazyPart(async () => (await import('./runbook.tsx')).RunbookEntry)
const SHEET = 'h-full w-[min(100%,44rem)] justify-self-end'

/** Alarms, with the button that acknowledges one. */
export const AlarmTable = ({ alarms }: { alarms: readonly AlarmView[] }) => (
  <DataTable
    caption="Alarms"
    rows={alarms}
    title="Alarm"
    columns={{
      Severity: ({ severity }) => <StateBadge state={severity} />,
      Alarm: (alarm) => <Summary alarm={alarm} />,
      Account:
        alarms.some(({ account_id: id }) => id !== null) &&
        (({ account_id: id, account_name: name }) => id !== null && <AccountLink id={id} name={name} />),
      Count: ({ count }) => formatCount(count),
      'Last / first': (alarm) => (
        <TwoLines nowrap second={formatMoment(alarm.first_at)}>
          {formatMoment(alarm.last_at)}
        </TwoLines>
      ),
      State: (alarm) => <State alarm={alarm} />,
      Actions: (alarm) => (
        <span className="table-actions flex justify-end gap-1">
          <Button
            size="small"
            kind="quiet"
            about={`entry of ${alarm.kind}`}
            dialog={(close) => (
              <DialogBox title={`Runbook: ${alarm.kind}`} className={SHEET} onClose={close}>
                <RunbookEntry kind={alarm.kind} />
              </DialogBox>
            )}
          >
            Runbook
          </Button>
          {alarm.acknowledged_at === null && (
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
          )}
        </span>
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
      <Link to={alarm.page}>{alarm.summary}</Link>
      <Code className="text-sm text-muted">{alarm.kind}</Code>
      {fields.length > 0 && (
        <details className="disclosure text-sm">
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
