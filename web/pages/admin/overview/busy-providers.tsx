import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { providersQuery } from '../../../api/operator-queries.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { busyFirst } from '../../../lib/providers.ts'
import { ProviderTable } from '../providers/provider-table.tsx'

const SHOWN = 8

/** The providers that receive calls now, the busiest first. */
export function BusyProviders() {
  const query = useQuery(providersQuery)
  return (
    <Panel title="Providers, last ten minutes" actions={<Link to="/admin/providers">All providers</Link>}>
      <QueryView query={query}>
        {({ data }) => {
          const busy = busyFirst(data).filter(({ last_ten_minutes: { success, failure, rate_limited } }) =>
            [success, failure, rate_limited].some((count) => count > 0),
          )
          return busy.length === 0 ? (
            <p className="panel-body muted">
              No calls in the last ten minutes. Providers appear here as calls go to them.
            </p>
          ) : (
            <ProviderTable providers={busy.slice(0, SHOWN)} />
          )
        }}
      </QueryView>
    </Panel>
  )
}
