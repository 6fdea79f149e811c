import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { RedirectView } from '../../../src/core/api/identities.ts'
import { gatewayQuery, identitiesQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Facts } from '../../components/text/values.tsx'
import { oauthProblem } from '../../lib/oauth-problem.ts'
import { PasswordDialog } from './password-dialog.tsx'

const PATH = '/console/api/identities'

interface Provider {
  id: string
  name: string
}

/** Other services that sign in to this account; nothing where none is set up. */
export function IdentitiesPanel() {
  const providers = useQuery(gatewayQuery).data?.providers ?? []
  const query = useQuery(identitiesQuery)
  const { problem } = useSearch({ from: '/account/settings' })
  const [open, setOpen] = useState<{ change: 'link' | 'unlink'; provider: Provider } | null>(null)
  const reason = oauthProblem(problem)
  if (providers.length === 0) return null
  const close = () => setOpen(null)
  return (
    <Panel title="Linked services" padded>
      {reason && <Note tone="warn">{reason}</Note>}
      <QueryView query={query}>
        {({ data }) => (
          <Facts
            rows={Object.fromEntries(
              providers.map((provider) => {
                const linked = data.find((identity) => identity.provider === provider.id)
                const change = linked ? 'unlink' : 'link'
                return [
                  provider.name,
                  <span key={provider.id} className="row gap-x-3 gap-y-1">
                    <span className="wrap-anywhere">{linked ? linked.email || 'Linked' : 'Not linked'}</span>
                    <Button size="small" about={provider.name} onClick={() => setOpen({ change, provider })}>
                      {linked ? 'Unlink' : 'Link'}
                    </Button>
                  </span>,
                ]
              }),
            )}
          />
        )}
      </QueryView>
      {open?.change === 'link' && (
        <PasswordDialog
          title={`Link ${open.provider.name}`}
          submit="Continue"
          kind="primary"
          send={async (body) => {
            const { url } = await requestJson<RedirectView>(
              'POST',
              path`/console/api/identities/${open.provider.id}`,
              body,
            )
            window.location.assign(url)
          }}
          onClose={close}
        >
          <p>You sign in there now, and can use it to sign in here afterwards.</p>
        </PasswordDialog>
      )}
      {open?.change === 'unlink' && (
        <PasswordDialog
          title={`Unlink ${open.provider.name}?`}
          submit="Unlink"
          kind="danger"
          send={(body) => requestJson('POST', path`/console/api/identities/${open.provider.id}/remove`, body)}
          stale={[PATH]}
          done="The service is unlinked."
          onClose={close}
        />
      )}
    </Panel>
  )
}
