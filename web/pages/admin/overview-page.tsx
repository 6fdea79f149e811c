import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, ServerOff } from 'lucide-react'
import { useMemo } from 'react'
import { LiveBoardProvider, useLiveBoard } from '../../api/live-board.tsx'
import { marginQuery, queuesQuery } from '../../api/operator-queries.ts'
import { EmptyState, Note, SkeletonLines } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge, StateBadge, Stats } from '../../components/text/values.tsx'
import { BASE_PATH } from '../../lib/base-path.ts'
import { formatCount, formatDuration, formatMoment, formatShare, lastDays, plural } from '../../lib/format.ts'
import { formatPerSecond, runningCalls, serverErrorShare, waitingCalls } from '../../lib/live-stats.ts'
import { ProcessTable, QueueTable } from './overview/process-tables.tsx'
import { TrafficPanel } from './overview/traffic-panel.tsx'
import { EnableButton } from './providers/provider-tables.tsx'

/** The state of the whole gateway now. */
export const OverviewPage = () => (
  <LiveBoardProvider>
    <Overview />
  </LiveBoardProvider>
)

function Overview() {
  const { view } = useLiveBoard()
  return (
    <>
      <PageHead title="Overview" actions={<LiveState />} />
      {view?.settlement_behind && (
        <Note tone="warn" announce>
          <strong>Settlement is delayed.</strong> Finished calls are charged later than usual. No money is
          lost: holds stay until the charge.
        </Note>
      )}
      <LiveTiles />
      <TrafficPanel />
      <BreakerPanel />
      <Panel title="Processes">
        {view === null ? (
          <SkeletonLines />
        ) : view.processes === null ? (
          <Unknown />
        ) : view.processes.length === 0 ? (
          <EmptyState icon={ServerOff}>
            No process has reported yet. Each process reports to Redis every second; Redis may have just
            started.
          </EmptyState>
        ) : (
          <ProcessTable processes={view.processes} />
        )}
      </Panel>
      <Panel
        title="Queues"
        actions={
          <a href={`${BASE_PATH}/admin/queues`} className="button button-small">
            Open Bull Board
          </a>
        }
      >
        {view === null ? <SkeletonLines /> : view.queues ? <QueueTable queues={view.queues} /> : <Unknown />}
        <ShardsAway shards={view?.shards_away ?? []} />
        <p className="px-inset pt-2 pb-4 text-sm text-muted">
          Bull Board shows each job, read-only. Prompts are encrypted and never shown.
        </p>
      </Panel>
    </>
  )
}

const Unknown = () => (
  <div className="panel-body">
    <Note tone="warn">Unavailable: Redis did not respond in time. Calls may fail, too.</Note>
  </div>
)

/** The shards whose queues are not in the table. */
const ShardsAway = ({ shards }: { shards: readonly number[] }) =>
  shards.length > 0 && (
    <div className="panel-body">
      <Note tone="warn">
        Without {shards.length === 1 ? 'shard' : 'shards'} {shards.join(', ')}: their Redis server did not
        respond in time. Calls of their accounts fail; those of others are served.
      </Note>
    </div>
  )

/** Whether the stats are of this second. Read out when that changes, not with every message. */
function LiveState() {
  const { view, isStale } = useLiveBoard()
  return (
    <p className="row min-h-8 text-sm" role="status">
      {isStale ? (
        <>
          <Badge tone="warn">Stale</Badge>{' '}
          {view ? `Last updated ${formatMoment(view.at)}. ` : 'No data yet. '}
          Reconnecting …
        </>
      ) : view ? (
        <Badge tone="good">Live</Badge>
      ) : (
        <Badge>Connecting …</Badge>
      )}
    </p>
  )
}

/** The live stats of this second. */
function LiveTiles() {
  const { view, isStale } = useLiveBoard()
  const waits = useQuery(queuesQuery).data?.claim_wait
  const span = useMemo(() => lastDays(1, new Date()), [])
  const margin = useQuery(marginQuery(span, 'day')).data?.total
  const calls = view?.processes && runningCalls(view.processes)
  const queue = view && waitingCalls(view)
  const traffic = view?.traffic
  const errors = traffic && serverErrorShare(traffic)
  return (
    <Stats
      className="grid grid-cols-2 lg:grid-cols-4 [&_.stat]:max-lg:p-3"
      stale={isStale}
      rows={{
        'Calls in flight': calls ? formatCount(calls.running) : '–',
        'Queued calls': queue ? formatCount(queue.waiting) : '–',
        'Queue wait (p95)': formatDuration(waits?.p95_ms ?? null),
        'Calls per second': traffic ? formatPerSecond(traffic.calls_per_second) : '–',
        'Error rate': errors == null ? '–' : formatShare(errors),
        'Revenue per minute': <Money usd={traffic?.spend_usd_per_minute} />,
        'Margin today (UTC)': <Money usd={margin?.margin_usd} />,
        'Open alarms': view?.open_alarms == null ? '–' : formatCount(view.open_alarms),
      }}
      notes={{
        'Calls in flight': calls?.most && `of ${formatCount(calls.most)} concurrent`,
        'Queued calls': queue?.oldestMs ? `oldest: ${formatDuration(queue.oldestMs)}` : null,
        'Queue wait (p95)':
          waits && waits.calls > 0
            ? `p50 ${formatDuration(waits.p50_ms)}, p99 ${formatDuration(waits.p99_ms)}; ${plural(waits.calls, 'call')} in ${waits.window_ms / 60_000} min`
            : 'no recent calls',
        'Calls per second': traffic && `${formatPerSecond(traffic.tokens_per_second)} tokens per second`,
        'Error rate':
          traffic && `${formatPerSecond(traffic.server_errors_per_second)} 5xx per second, last 10 s`,
        'Margin today (UTC)': margin && margin.margin_rate !== null && (
          <>
            {formatShare(margin.margin_rate)} of <Money usd={margin.revenue_usd} />
          </>
        ),
        'Open alarms': <Link to="/admin/alarms">View alarms</Link>,
      }}
    />
  )
}

/** Offers and providers that receive no calls at this second. */
function BreakerPanel() {
  const { view } = useLiveBoard()
  const breakers = view?.breakers
  return (
    <Panel title="Open circuits">
      {view === null ? (
        <SkeletonLines />
      ) : breakers == null ? (
        <Unknown />
      ) : breakers.length === 0 ? (
        <p className="row px-inset pt-4 pb-inset">
          <CircleCheck size={18} aria-hidden="true" />
          All circuits are closed: every offer receives calls.
        </p>
      ) : (
        <DataTable
          caption="Circuits that are not closed"
          rows={breakers}
          rowKey={({ subject: id, state }) => `${id} ${state}`}
          columns={{
            'Offer or provider': ({ subject: id }) => <code>{id}</code>,
            State: ({ state }) => <StateBadge state={state} name={CIRCUIT_STATES[state]} />,
            Reason: ({ reason }) => reason,
            'Next retry': ({ state, until }) =>
              state === 'half-open' ? 'on next request' : formatMoment(until),
            Actions: ({ subject: id, state }) =>
              state === 'rate-limited' ? (
                <span className="text-muted">auto-recovers</span>
              ) : (
                <EnableButton subject={id} />
              ),
          }}
        />
      )}
    </Panel>
  )
}

const CIRCUIT_STATES: Record<string, string> = {
  open: 'Circuit open',
  'half-open': 'Half-open',
  'rate-limited': 'Rate limited',
}
