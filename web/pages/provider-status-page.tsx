import { useQuery } from '@tanstack/react-query'
import { EyeOff } from 'lucide-react'
import { gatewayQuery, providerStatusQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { ProviderStatusView } from './status/provider-status-view.tsx'

/** How providers do, for everyone while operators publish it. */
export function ProviderStatusPage() {
  const gateway = useQuery(gatewayQuery)
  const isPublic = gateway.data?.provider_status
  const query = useQuery({ ...providerStatusQuery, enabled: isPublic === true })
  return (
    <SitePage
      title="Provider status"
      description={
        <>
          Uptime and latency of the providers behind this gateway. A provider that fails is skipped, so calls
          continue at others. JSON: <a href={`${BASE_PATH}/console/api/provider-status`}>provider-status</a>.
        </>
      }
    >
      {isPublic === false ? (
        <Panel title="Not published">
          <EmptyState icon={EyeOff}>
            The operator of this gateway does not publish provider status.
          </EmptyState>
        </Panel>
      ) : (
        <QueryView query={query}>{(status) => <ProviderStatusView status={status} />}</QueryView>
      )}
    </SitePage>
  )
}
