import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { timelineQuery } from '../../api/operator-queries.ts'
import { Identifier } from '../../components/identifier.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { InFlightCall } from './calls/in-flight-call.tsx'
import { SettledCall } from './calls/settled-call.tsx'

/** One call: where its time, its tokens and its money went; also while it runs. */
export function OperatorCallPage() {
  const { id } = useParams({ from: '/operator/admin/calls/$id' })
  const query = useQuery(timelineQuery(id))
  return (
    <>
      <nav className="breadcrumb" aria-label="Breadcrumb">
        <Link to="/admin/calls">← Calls</Link>
      </nav>
      <PageHead title="Call" description={<Identifier id={id} of="the call id" />} />
      <QueryView query={query}>
        {(call) => (call.state === 'settled' ? <SettledCall call={call} /> : <InFlightCall call={call} />)}
      </QueryView>
    </>
  )
}
