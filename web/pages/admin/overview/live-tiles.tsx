import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo } from 'react'
import { useLiveBoard } from '../../../api/live-board.tsx'
import { marginQuery, queuesQuery } from '../../../api/operator-queries.ts'
import { Money } from '../../../components/money.tsx'
import { lastDays } from '../../../lib/dates.ts'
import { formatCount, formatDuration, plural } from '../../../lib/figures.ts'
import {
  formatPerSecond,
  formatShare,
  queueNamed,
  runningCalls,
  serverErrorShare,
} from '../../../lib/operator-figures.ts'

const UNKNOWN = '–'

/** The figures of this second. */
export function LiveTiles() {
  const { view, isStale } = useLiveBoard()
  const waits = useQuery(queuesQuery).data?.claim_wait
  const span = useMemo(() => lastDays(1, new Date()), [])
  const margin = useQuery(marginQuery(span, 'day')).data?.total
  const calls = view?.processes && runningCalls(view.processes)
  const queue = view && queueNamed(view, 'dispatch')
  const traffic = view?.traffic
  const errors = traffic && serverErrorShare(traffic)
  return (
    <dl className="figures live-tiles" data-stale={isStale}>
      <Tile name="Calls in flight" note={calls?.most ? `of ${formatCount(calls.most)} at once` : null}>
        {calls ? formatCount(calls.running) : UNKNOWN}
      </Tile>
      <Tile
        name="Waiting in the queue"
        note={queue?.oldest_waiting_ms ? `the oldest for ${formatDuration(queue.oldest_waiting_ms)}` : null}
      >
        {queue ? formatCount(queue.waiting) : UNKNOWN}
      </Tile>
      <Tile
        name="Wait for a worker, p95"
        note={
          waits && waits.calls > 0
            ? `p50 ${duration(waits.p50_ms)}, p99 ${duration(waits.p99_ms)}; ${plural(waits.calls, 'call')} in ${waits.window_ms / 60_000} min`
            : 'no calls lately'
        }
      >
        {duration(waits?.p95_ms ?? null)}
      </Tile>
      <Tile
        name="Calls a second"
        note={traffic ? `${formatPerSecond(traffic.tokens_per_second)} tokens a second` : null}
      >
        {traffic ? formatPerSecond(traffic.calls_per_second) : UNKNOWN}
      </Tile>
      <Tile
        name="Error rate"
        note={
          traffic ? `${formatPerSecond(traffic.server_errors_per_second)} of 5xx a second, last 10 s` : null
        }
      >
        {errors == null ? UNKNOWN : formatShare(errors)}
      </Tile>
      <Tile name="Clients spend a minute">
        {traffic ? <Money usd={traffic.spend_usd_per_minute} /> : UNKNOWN}
      </Tile>
      <Tile
        name="Margin today (UTC)"
        note={
          margin && margin.margin_rate !== null ? (
            <>
              {formatShare(margin.margin_rate)} of <Money usd={margin.revenue_usd} />
            </>
          ) : null
        }
      >
        {margin ? <Money usd={margin.margin_usd} /> : UNKNOWN}
      </Tile>
      <Tile name="Open alarms" note={<Link to="/admin/alarms">See the alarms</Link>}>
        {view?.open_alarms == null ? UNKNOWN : formatCount(view.open_alarms)}
      </Tile>
    </dl>
  )
}

function Tile({ name, note = null, children }: { name: string; note?: ReactNode; children: ReactNode }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
      {note !== null && <dd className="figure-note">{note}</dd>}
    </div>
  )
}

const duration = (milliseconds: number | null): string =>
  milliseconds === null ? UNKNOWN : formatDuration(milliseconds)
