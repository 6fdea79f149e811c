import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import type { CallSessionDetail } from '../../src/core/api/call-sessions.ts'
import { callSessionQuery } from '../api/queries.ts'
import { Waterfall } from '../components/chart/call-timeline.tsx'
import { QueryView } from '../components/feedback/messages.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { CallOutcome, TokensInOut } from '../components/table/call-table.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { Money } from '../components/text/money.tsx'
import { Stats } from '../components/text/values.tsx'
import { cachedShare, DRAWN_MAX, sessionTimeline } from '../lib/calls/call-session.ts'
import { formatCount, formatDuration, formatMoment } from '../lib/format.ts'

/** One conversation: what it cost, and its calls in their order. */
export function CallSessionPage() {
  const { id = '' } = useSearch({ from: '/account/session' })
  const query = useQuery(callSessionQuery(id))
  return (
    <>
      <PageHead
        back={<Link to="/usage">← Usage</Link>}
        title="Session"
        description={<code className="wrap-anywhere">{id}</code>}
      />
      <QueryView query={query}>{(session) => <Session session={session} />}</QueryView>
    </>
  )
}

function Session({ session }: { session: CallSessionDetail }) {
  const { calls, failed_calls: failed, first_at: first, last_at: last, cached_tokens: cached } = session
  return (
    <>
      <Stats
        rows={{
          Cost: <Money usd={session.cost_usd} />,
          Requests: formatCount(calls),
          'Input tokens': formatCount(session.prompt_tokens),
          'Cache hits': cachedShare(session),
          'Output tokens': formatCount(session.completion_tokens),
          Duration: formatDuration(Date.parse(last) - Date.parse(first)),
        }}
        notes={{
          Requests: failed > 0 && `${formatCount(failed)} failed`,
          'Cache hits': cached > 0 && `${formatCount(cached)} tokens`,
          Duration: `since ${formatMoment(first)}`,
        }}
      />
      {session.data.length > 1 && (
        <Panel
          title={session.data.length > DRAWN_MAX ? `The latest ${DRAWN_MAX} to scale` : 'To scale'}
          padded
        >
          <Waterfall {...sessionTimeline(session)} />
        </Panel>
      )}
      <Panel title="Requests in order">
        <DataTable
          caption="Calls of the session, oldest first"
          rows={session.data}
          title="Model"
          columns={{
            'Started at': (call) => formatDuration(Date.parse(call.timings.admitted_at) - Date.parse(first)),
            Model: (call) => (
              <Link to="/calls/$id" params={{ id: call.id }}>
                {call.model}
                <span className="sr-only">
                  , details of the call of {formatMoment(call.timings.admitted_at)}
                </span>
              </Link>
            ),
            Status: (call) => <CallOutcome call={call} />,
            'Input / output tokens': (call) => <TokensInOut of={call.usage} />,
            'Cache hits': ({ usage }) => cachedShare(usage),
            TTFT: (call) => formatDuration(call.timings.first_token_ms),
            Duration: (call) => formatDuration(call.timings.duration_ms),
            Cost: (call) => <Money usd={call.cost_usd} />,
          }}
          numeric={['Started at', 'Input / output tokens', 'Cache hits', 'TTFT', 'Duration', 'Cost']}
        />
      </Panel>
    </>
  )
}
