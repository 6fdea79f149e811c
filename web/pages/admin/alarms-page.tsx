import { useNavigate, useSearch } from '@tanstack/react-router'
import { BellOff } from 'lucide-react'
import type { AlarmView } from '../../../src/core/api/operations.ts'
import { alarmsQuery } from '../../api/operator-queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { Button } from '../../components/form/button.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { DataTable, ListPanel, TwoLines } from '../../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../../lib/format.ts'

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
      />
      <ChoiceField
        label="Show"
        value={which}
        options={WHICH}
        onChange={(value) =>
          void navigate({ search: value === 'all' ? { state: 'all' } : {}, replace: true })
        }
      />
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

function AlarmTable({ alarms }: { alarms: readonly AlarmView[] }) {
  const acknowledge = useAction({
    send: (id: string) => requestJson<AlarmView>('POST', path`/admin/api/alarms/${id}/acknowledge`),
    stale: ['/admin/api/alarms'],
    done: 'Alarm acknowledged.',
  })
  return (
    <DataTable
      caption="Alarms"
      rows={alarms}
      columns={{
        Alarm: ({ kind, message }) => (
          <span className="stack-tight">
            <strong>{kind}</strong>
            <span>{message}</span>
          </span>
        ),
        Subject: ({ subject }) => <code className="text-sm wrap-anywhere">{subject}</code>,
        Count: ({ count }) => formatCount(count),
        'Last / first': (alarm) => (
          <TwoLines nowrap second={formatMoment(alarm.first_at)}>
            {formatMoment(alarm.last_at)}
          </TwoLines>
        ),
        Details: ({ fields }) => (
          <span className="text-sm wrap-anywhere">
            {Object.entries(fields)
              .map(([name, value]) => `${name}: ${value}`)
              .join('; ') || '–'}
          </span>
        ),
        Actions: (alarm) =>
          alarm.acknowledged_at === null ? (
            <Button
              size="small"
              about={alarm.kind}
              disabled={acknowledge.isPending}
              onClick={() => acknowledge.run(alarm.id)}
            >
              Acknowledge
            </Button>
          ) : (
            <span className="stack-tight text-sm text-muted">
              acknowledged {formatMoment(alarm.acknowledged_at)}
              <code className="wrap-anywhere">{alarm.acknowledged_by}</code>
            </span>
          ),
      }}
      numeric={['Count']}
      long={['Details']}
    />
  )
}
