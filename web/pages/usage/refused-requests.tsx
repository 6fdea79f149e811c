import { useQuery } from '@tanstack/react-query'
import { refusalsQuery } from '../../api/queries.ts'
import { Panel } from '../../components/layout/page.tsx'
import { RefusalChart, RefusalTable } from '../../components/table/refusal-table.tsx'

/** What was refused before a call began, which the request log does not list. Nothing where nothing was. */
export function RefusedRequests(props: {
  period: { from: string; to: string; time_zone: string }
  onPick: (at: string, interval: 'hour' | 'day') => void
}) {
  const { period, onPick } = props
  const { data } = useQuery(refusalsQuery(period))
  if (!data || data.data.length === 0) return null
  return (
    <Panel title="Refused requests">
      <RefusalChart refusals={data} zone={period.time_zone} onPick={onPick} />
      <RefusalTable rows={data.data} empty="" zone={period.time_zone} />
      <p className="px-inset pt-2 pb-4 text-sm text-muted">
        Rejected before they reached a model, and not charged. They are counted by hour, and are not among the
        requests below.
      </p>
    </Panel>
  )
}
