import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import type { RedirectView } from '../../../src/core/api/identities.ts'
import { gatewayQuery, identitiesQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Facts } from '../../components/text/values.tsx'
import { oauthProblem } from '../../lib/oauth-problem.ts'
import { PasswordDialog } from './second-factor-dialogs.tsx'

interface Provider {
  id: string
  name: string
}

/** Other services that sign in to this account; nothing where none is set up. */
export function IdentitiesPanel() {
  const providers = useQuery(gatewayQuery).data?.providers ?? []
  const query = useQuery(identitiesQuery)
  const { problem } = useSearch({ from: '/account/settings' })
  const reason = oauthProblem(problem)
  if (providers.length === 0) return null
  return (
    <Panel title="Linked services" padded>
      {reason && <Note tone="warn">{reason}</Note>}
      <QueryView query={query}>
        {({ data }) => (
          <Facts
            rows={Object.fromEntries(
              providers.map((provider) => {
                const linked = data.find((identity) => identity.provider === provider.id)
                return [
                  provider.name,
                  <span key={provider.id} className="row gap-x-3 gap-y-1">
                    <span className="wrap-anywhere">{linked ? linked.email || 'Linked' : 'Not linked'}</span>
                    <Button
                      size="small"
                      about={provider.name}
                      dialog={(close) =>
                        linked ? (
                          <UnlinkDialog provider={provider} onClose={close} />
                        ) : (
                          <LinkDialog provider={provider} onClose={close} />
                        )
                      }
                    >
                      {linked ? 'Unlink' : 'Link'}
                    </Button>
                  </span>,
                ]
              }),
            )}
          />
        )}
      </QueryView>
    </Panel>
  )
}

interface DialogProps {
  provider: Provider
  onClose: () => void
}

const LinkDialog = ({ provider: { id, name }, onClose }: DialogProps) => (
  <PasswordDialog
    title={`Link ${name}`}
    submit="Continue"
    kind="primary"
    send={async (body) => {
      const { url } = await requestJson<RedirectView>('POST', path`/console/api/identities/${id}`, body)
      window.location.assign(url)
    }}
    onClose={onClose}
  >
    <p>You sign in there now, and can use it to sign in here afterwards.</p>
  </PasswordDialog>
)

const UnlinkDialog = ({ provider: { id, name }, onClose }: DialogProps) => (
  <PasswordDialog
    title={`Unlink ${name}?`}
    submit="Unlink"
    kind="danger"
    send={(body) => requestJson('POST', path`/console/api/identities/${id}/remove`, body)}
    stale={['/console/api/identities']}
    done="The service is unlinked."
    onClose={onClose}
  />
)
