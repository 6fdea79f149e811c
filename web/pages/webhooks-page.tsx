import { useQuery } from '@tanstack/react-query'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import type { CreatedWebhook, NewWebhookBody } from '../../src/core/api/webhooks.ts'
import { webhooksQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { FormDialog } from '../components/feedback/dialogs.tsx'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CheckField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { GuardrailsPanel } from './webhooks/guardrails-panel.tsx'
import { SigningSecret, WebhookPanel } from './webhooks/webhook-panel.tsx'

/** The endpoints that the gateway sends the account's events to. */
export function WebhooksPage() {
  const query = useQuery(webhooksQuery)
  const [isAdding, setIsAdding] = useState(false)
  const isFull = query.data !== undefined && query.data.data.length >= query.data.max
  const add = (
    <Button icon={Plus} kind="primary" disabled={isFull} onClick={() => setIsAdding(true)}>
      Add endpoint
    </Button>
  )
  return (
    <>
      <PageHead
        title="Webhooks"
        docs="webhooks"
        description="Signed events sent to your server, for example when the balance runs low, a top-up is paid or a key is revoked. The format is Standard Webhooks."
        actions={add}
      />
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Panel title="Endpoints">
              <EmptyState icon={WebhookIcon} action={add}>
                No endpoints yet. Add the HTTPS URL of a server that responds with 200 within 15 seconds.
              </EmptyState>
            </Panel>
          ) : (
            data.map((webhook) => <WebhookPanel key={webhook.id} webhook={webhook} />)
          )
        }
      </QueryView>
      <GuardrailsPanel />
      {isAdding && (
        <NewWebhookDialog eventTypes={query.data?.event_types ?? []} onClose={() => setIsAdding(false)} />
      )}
    </>
  )
}

/** Asks for the address of an endpoint and the events to send to it. */
function NewWebhookDialog({ eventTypes, onClose }: { eventTypes: string[]; onClose: () => void }) {
  const [chosen, setChosen] = useState<string[]>([])
  return (
    <FormDialog
      title="Add endpoint"
      submit="Add endpoint"
      pending="Adding …"
      fields={{
        url: {
          label: 'Endpoint URL',
          type: 'url',
          inputMode: 'url',
          placeholder: 'https://example.com/hooks',
          required: true,
          check: (url) =>
            URL.canParse(url) ? null : 'Enter a valid URL, for example https://example.com/hooks.',
        },
      }}
      send={({ url }) =>
        requestJson<CreatedWebhook>('POST', '/console/api/webhooks', {
          ...{ url, event_types: chosen },
        } satisfies NewWebhookBody)
      }
      stale={['/console/api/webhooks']}
      then={({ secret }, close) => <SigningSecret secret={secret} onClose={close} />}
      onClose={onClose}
      foot={
        <fieldset className="field stack content-start gap-1">
          <legend className="text-sm font-medium">Events</legend>
          <p className="text-sm text-muted">Leave empty to receive all events, including new ones.</p>
          {eventTypes.map((type) => (
            <CheckField
              key={type}
              label={<code>{type}</code>}
              checked={chosen.includes(type)}
              onChange={(checked) =>
                setChosen(checked ? [...chosen, type] : chosen.filter((other) => other !== type))
              }
            />
          ))}
        </fieldset>
      }
    />
  )
}
