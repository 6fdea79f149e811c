import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { callSessionsQuery, refusalsQuery } from '../../api/queries.ts'
import { Panel } from '../../components/layout/page.tsx'
import { TokensInOut } from '../../components/table/call-table.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { RefusalChart, RefusalTable } from '../../components/table/refusal-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { cachedShare } from '../../lib/calls/call-session.ts'
import { formatCount, formatMoment } from '../../lib/format.ts'

/** The sessions of the latest requests; nothing for accounts whose requests name none. */
export function RecentSessions({ zone }: { zone: string }) {
  const sessions = useQuery(callSessionsQuery).data?.data ?? []
  if (sessions.length === 0) return null
  return (
    <Panel title="Recent sessions">
      <DataTable
        caption="Recent sessions, latest first"
        rows={sessions}
        columns={{
          Session: ({ id }) => (
            <Link to="/session" search={{ id }} className="wrap-anywhere">
              {id}
            </Link>
          ),
          'Last request': ({ last_at: at }) => formatMoment(at, zone),
          Requests: ({ calls }) => formatCount(calls),
          'Input / output tokens': (session) => <TokensInOut of={session} />,
          'Cache hits': cachedShare,
          Cost: ({ cost_usd: cost }) => <Money usd={cost} />,
        }}
        numeric={['Requests', 'Input / output tokens', 'Cache hits', 'Cost']}
      />
    </Panel>
  )
}

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
