import { useQuery } from '@tanstack/react-query'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import { webhooksQuery } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { NewWebhookDialog } from './webhooks/new-webhook-dialog.tsx'
import { WebhookPanel } from './webhooks/webhook-panel.tsx'
import { type ShownSecret, WebhookSecretDialog } from './webhooks/webhook-secret-dialog.tsx'

/** Where the gateway sends what happens to the account. */
export function WebhooksPage() {
  const query = useQuery(webhooksQuery)
  const [isAdding, setIsAdding] = useState(false)
  const [secret, setSecret] = useState<ShownSecret | null>(null)
  const isFull = query.data !== undefined && query.data.data.length >= query.data.max
  const add = (
    <button
      type="button"
      className="button button-primary"
      disabled={isFull}
      onClick={() => setIsAdding(true)}
    >
      <Plus size={18} aria-hidden="true" />
      Add an endpoint
    </button>
  )
  return (
    <>
      <PageHead
        title="Webhooks"
        description="Signed messages to a server of yours when the balance runs low, a top-up settles or a key is revoked. The format is Standard Webhooks."
        actions={add}
      />
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Panel title="Endpoints">
              <EmptyState icon={WebhookIcon} action={add}>
                No endpoints. Add the https address of a server that answers with 200 within fifteen seconds.
              </EmptyState>
            </Panel>
          ) : (
            data.map((webhook) => <WebhookPanel key={webhook.id} webhook={webhook} onSecret={setSecret} />)
          )
        }
      </QueryView>
      <NewWebhookDialog
        isOpen={isAdding}
        eventTypes={query.data?.event_types ?? []}
        onClose={() => setIsAdding(false)}
        onCreated={(created) => {
          setIsAdding(false)
          setSecret({ secret: created.secret, oldSignsUntil: null })
        }}
      />
      <WebhookSecretDialog shown={secret} onClose={() => setSecret(null)} />
    </>
  )
}
