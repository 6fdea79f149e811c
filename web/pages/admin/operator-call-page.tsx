import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { timelineQuery } from '../../api/operator-queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { Identifier } from '../../components/text/copy.tsx'
import { InFlightCall } from './calls/in-flight-call.tsx'
import { SettledCall } from './calls/settled-call.tsx'

/** One call: its timeline, its usage and its cost; also while it runs. */
export function OperatorCallPage() {
  const { id } = useParams({ from: '/operator/admin/calls/$id' })
  const query = useQuery(timelineQuery(id))
  return (
    <>
      <PageHead
        back={<Link to="/admin/calls">← Calls</Link>}
        title="Call"
        description={<Identifier id={id} of="the call id" />}
      />
      <QueryView query={query}>
        {(call) => (call.state === 'settled' ? <SettledCall call={call} /> : <InFlightCall call={call} />)}
      </QueryView>
    </>
  )
}
