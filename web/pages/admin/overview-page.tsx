import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, ServerOff } from 'lucide-react'
import { LiveBoardProvider, useLiveBoard } from '../../api/live-board.tsx'
import { hoursQuery, queuesQuery } from '../../api/operator-queries.ts'
import { EmptyState, Note, SkeletonLines } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge, StateBadge, Stats } from '../../components/text/values.tsx'
import { BASE_PATH } from '../../lib/base-path.ts'
import {
  approximateAmount,
  formatCount,
  formatDuration,
  formatMoment,
  formatShare,
} from '../../lib/format.ts'
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

/** The live stats of this second, and how the last 24 hours went. */
function LiveTiles() {
  const { view, isStale } = useLiveBoard()
  const waits = useQuery(queuesQuery).data?.claim_wait
  const hours = useQuery(hoursQuery).data
  const day = hours?.total
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
        'Time to first token (p95)': formatDuration(day?.first_token_p95_ms ?? null),
        'Calls per second': traffic ? formatPerSecond(traffic.calls_per_second) : '–',
        'Error rate': errors == null ? '–' : formatShare(errors),
        'Revenue per minute': <Money usd={traffic?.spend_usd_per_minute} />,
        'Margin, 24 hours': <Money usd={day?.margin_usd} />,
        'Open alarms': view?.open_alarms == null ? '–' : formatCount(view.open_alarms),
      }}
      notes={{
        'Calls in flight': calls?.most && `of ${formatCount(calls.most)} concurrent`,
        'Queued calls':
          waits &&
          `wait p95 ${formatDuration(waits.p95_ms)}, oldest ${formatDuration(queue?.oldestMs ?? null)}`,
        'Time to first token (p95)': 'last 24 hours',
        'Calls per second': day && `${formatCount(day.calls)} in 24 hours`,
        'Error rate': day && `${formatCount(day.failed_calls)} calls failed in 24 hours`,
        'Revenue per minute': day && (
          <>
            <Money usd={day.revenue_usd} /> in 24 hours
          </>
        ),
        'Margin, 24 hours':
          day &&
          day.revenue_usd !== '0.00' &&
          `${formatShare(approximateAmount(day.margin_usd) / approximateAmount(day.revenue_usd))} of revenue`,
        'Open alarms': <Link to="/admin/alarms">View alarms</Link>,
      }}
      trends={
        hours && {
          'Time to first token (p95)': hours.data.map((hour) => hour.first_token_p95_ms),
          'Calls per second': hours.data.map((hour) => hour.calls),
          'Error rate': hours.data.map((hour) => hour.failed_calls),
          'Revenue per minute': hours.data.map((hour) => approximateAmount(hour.revenue_usd)),
        }
      }
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
