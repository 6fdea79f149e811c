import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { BellOff } from 'lucide-react'
import type { AlarmView } from '../../../src/core/api/operations.ts'
import { alarmsQuery, OPERATOR_API } from '../../api/operator-queries.ts'
import { messageOf, requestJson } from '../../api/request.ts'
import { ChoiceField } from '../../components/choice-field.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatMoment } from '../../lib/dates.ts'
import { formatCount } from '../../lib/figures.ts'

const WHICH = [
  { value: 'open', name: 'Open' },
  { value: 'all', name: 'All' },
]

/** What a person should look at, and who did. */
export function AlarmsPage() {
  const { state } = useSearch({ from: '/operator/admin/alarms' })
  const which = state === 'all' ? 'all' : 'open'
  const navigate = useNavigate({ from: '/admin/alarms' })
  const query = useInfiniteQuery(alarmsQuery(which))
  return (
    <>
      <PageHead
        title="Alarms"
        description="What a person should look at. Repetitions are counted; an alarm that comes again after it was acknowledged is a new one."
      />
      <ChoiceField
        label="Show"
        value={which}
        options={WHICH}
        onChange={(value) =>
          void navigate({ search: value === 'all' ? { state: 'all' } : {}, replace: true })
        }
      />
      <Panel title={which === 'open' ? 'Open alarms' : 'All alarms'}>
        <PageList
          query={query}
          empty={
            <EmptyState icon={BellOff}>
              {which === 'open' ? 'No open alarms: nothing to do.' : 'There was no alarm yet.'}
            </EmptyState>
          }
        >
          {(alarms) => <AlarmTable alarms={alarms} />}
        </PageList>
      </Panel>
    </>
  )
}

function AlarmTable({ alarms }: { alarms: readonly AlarmView[] }) {
  const client = useQueryClient()
  const acknowledge = useMutation({
    mutationFn: (id: string) =>
      requestJson<AlarmView>('POST', `${OPERATOR_API}/alarms/${encodeURIComponent(id)}/acknowledge`),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['operator', 'alarms'] })
      showToast('Acknowledged.')
    },
    onError: (error) => showToast(messageOf(error)),
  })
  const columns: Column<AlarmView>[] = [
    {
      header: 'Alarm',
      title: true,
      cell: ({ kind, message }) => (
        <span className="stack-tight">
          <strong>{kind}</strong>
          <span>{message}</span>
        </span>
      ),
    },
    { header: 'About', cell: ({ subject }) => <code className="small anywhere">{subject}</code> },
    { header: 'Times', numeric: true, cell: ({ count }) => formatCount(count) },
    {
      header: 'Last, and first',
      cell: (alarm) => (
        <span className="stack-tight nowrap">
          {formatMoment(alarm.last_at)}
          <span className="small muted">{formatMoment(alarm.first_at)}</span>
        </span>
      ),
    },
    {
      header: 'More',
      cell: ({ fields }) => (
        <span className="small anywhere">
          {Object.entries(fields)
            .map(([name, value]) => `${name}: ${value}`)
            .join('; ') || '–'}
        </span>
      ),
    },
    {
      header: 'Actions',
      numeric: true,
      cell: (alarm) =>
        alarm.acknowledged_at === null ? (
          <button
            type="button"
            className="button button-small"
            disabled={acknowledge.isPending}
            onClick={() => acknowledge.mutate(alarm.id)}
          >
            Acknowledge<span className="visually-hidden"> {alarm.kind}</span>
          </button>
        ) : (
          <span className="stack-tight small muted">
            acknowledged {formatMoment(alarm.acknowledged_at)}
            <code className="anywhere">{alarm.acknowledged_by}</code>
          </span>
        ),
    },
  ]
  return <DataTable caption="Alarms" columns={columns} rows={alarms} rowKey={({ id }) => id} />
}
