import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLiveBoard } from '../../../api/live-board.tsx'
import { marginQuery, queuesQuery } from '../../../api/operator-queries.ts'
import { Money, Stats } from '../../../components/text/values.tsx'
import { formatCount, formatDuration, lastDays, plural } from '../../../lib/format.ts'
import {
  formatPerSecond,
  formatShare,
  queueNamed,
  runningCalls,
  serverErrorShare,
} from '../../../lib/live-stats.ts'

/** The live stats of this second. */
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
    <Stats
      className="live-tiles"
      stale={isStale}
      rows={{
        'Calls in flight': calls ? formatCount(calls.running) : '–',
        'Waiting in the queue': queue ? formatCount(queue.waiting) : '–',
        'Wait for a worker, p95': formatDuration(waits?.p95_ms ?? null),
        'Calls a second': traffic ? formatPerSecond(traffic.calls_per_second) : '–',
        'Error rate': errors == null ? '–' : formatShare(errors),
        'Clients spend a minute': <Money usd={traffic?.spend_usd_per_minute} />,
        'Margin today (UTC)': <Money usd={margin?.margin_usd} />,
        'Open alarms': view?.open_alarms == null ? '–' : formatCount(view.open_alarms),
      }}
      notes={{
        'Calls in flight': calls?.most && `of ${formatCount(calls.most)} at once`,
        'Waiting in the queue':
          queue?.oldest_waiting_ms && `the oldest for ${formatDuration(queue.oldest_waiting_ms)}`,
        'Wait for a worker, p95':
          waits && waits.calls > 0
            ? `p50 ${formatDuration(waits.p50_ms)}, p99 ${formatDuration(waits.p99_ms)}; ${plural(waits.calls, 'call')} in ${waits.window_ms / 60_000} min`
            : 'no recent calls',
        'Calls a second': traffic && `${formatPerSecond(traffic.tokens_per_second)} tokens a second`,
        'Error rate':
          traffic && `${formatPerSecond(traffic.server_errors_per_second)} of 5xx a second, last 10 s`,
        'Margin today (UTC)': margin && margin.margin_rate !== null && (
          <>
            {formatShare(margin.margin_rate)} of <Money usd={margin.revenue_usd} />
          </>
        ),
        'Open alarms': <Link to="/admin/alarms">See the alarms</Link>,
      }}
    />
  )
}
