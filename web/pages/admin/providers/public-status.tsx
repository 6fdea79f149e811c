import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { GatewaySettingsView } from '../../../../src/core/api/gateway.ts'
import { operatorProviderStatusQuery, settingsQuery } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { ConfirmDialog } from '../../../components/feedback/dialogs.tsx'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Button } from '../../../components/form/button.tsx'
import { PageHead, Panel } from '../../../components/layout/page.tsx'
import { Badge } from '../../../components/text/values.tsx'
import { ProviderStatusView } from '../../status/provider-status-view.tsx'

/** The status page of providers as the public sees it, or would, and the switch that publishes it. */
export function PublicStatusPage() {
  const settings = useQuery(settingsQuery)
  const isPublic = settings.data?.provider_status_public
  const query = useQuery(operatorProviderStatusQuery)
  return (
    <>
      <PageHead
        title="Provider status page"
        description="Uptime, latency and incidents of providers, without models and without calls to auto."
        actions={
          isPublic !== undefined && (
            <Button
              kind={isPublic ? undefined : 'primary'}
              dialog={(close) => <VisibilityDialog isPublic={isPublic} onClose={close} />}
            >
              {isPublic ? 'Stop publishing' : 'Publish'}
            </Button>
          )
        }
      />
      <Panel title="Visibility" padded>
        <p className="row">
          {isPublic ? <Badge tone="good">public</Badge> : <Badge>operators only</Badge>}
          <Link to="/status">/status</Link>
        </p>
      </Panel>
      <QueryView query={query}>{(status) => <ProviderStatusView status={status} />}</QueryView>
    </>
  )
}

const VisibilityDialog = ({ isPublic, onClose }: { isPublic: boolean; onClose: () => void }) => (
  <ConfirmDialog
    title={isPublic ? 'Stop publishing provider status?' : 'Publish provider status?'}
    confirm={isPublic ? 'Stop publishing' : 'Publish'}
    send={() =>
      requestJson('PATCH', '/admin/api/settings', {
        provider_status_public: !isPublic,
      } satisfies GatewaySettingsView)
    }
    stale={['/admin/api/settings']}
    done={isPublic ? 'Provider status is for operators only now.' : 'Provider status is public now.'}
    onClose={onClose}
  >
    <p>
      {isPublic
        ? 'The page and its JSON are no longer available to visitors.'
        : 'Anybody can then see which providers this gateway uses, and how they do. Models, customers and what auto chooses are not shown.'}
    </p>
  </ConfirmDialog>
)
