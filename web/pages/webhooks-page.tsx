import { useQuery } from '@tanstack/react-query'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import { webhooksQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { SecretDialog } from '../components/feedback/secret-dialog.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { formatMoment } from '../lib/format.ts'
import { NewWebhookDialog } from './webhooks/new-webhook-dialog.tsx'
import { type ShownSecret, WebhookPanel } from './webhooks/webhook-panel.tsx'

/** The endpoints that the gateway sends the account's events to. */
export function WebhooksPage() {
  const query = useQuery(webhooksQuery)
  const [isAdding, setIsAdding] = useState(false)
  const [shown, setShown] = useState<ShownSecret | null>(null)
  const isFull = query.data !== undefined && query.data.data.length >= query.data.max
  const add = (
    <Button kind="primary" disabled={isFull} onClick={() => setIsAdding(true)}>
      <Plus size={18} aria-hidden="true" />
      Add an endpoint
    </Button>
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
                No endpoints. Add the https address of a server that responds with 200 within fifteen seconds.
              </EmptyState>
            </Panel>
          ) : (
            data.map((webhook) => <WebhookPanel key={webhook.id} webhook={webhook} onSecret={setShown} />)
          )
        }
      </QueryView>
      {isAdding && (
        <NewWebhookDialog
          eventTypes={query.data?.event_types ?? []}
          onClose={() => setIsAdding(false)}
          onCreated={({ secret }) => {
            setIsAdding(false)
            setShown({ secret, oldSignsUntil: null })
          }}
        />
      )}
      {shown && (
        <SecretDialog
          title="Copy the signing secret now"
          secret={shown.secret}
          of="the signing secret"
          copy="Copy secret"
          warning="This is the only time it is shown."
          onClose={() => setShown(null)}
        >
          <p>
            Verify every message with it, with any library for Standard Webhooks and the body exactly as
            received.
            {shown.oldSignsUntil &&
              ` The old secret signs beside it until ${formatMoment(shown.oldSignsUntil)}.`}
          </p>
        </SecretDialog>
      )}
    </>
  )
}
