import { useQuery } from '@tanstack/react-query'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import type { CreatedWebhook, NewWebhookBody } from '../../src/core/api/webhooks.ts'
import { webhooksQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { FormDialog, SecretDialog } from '../components/feedback/dialogs.tsx'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { CheckField, TextField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { formatMoment } from '../lib/format.ts'
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
            data.map((webhook) => <WebhookPanel key={webhook.id} webhook={webhook} onSecret={setShown} />)
          )
        }
      </QueryView>
      {isAdding && (
        <NewWebhookDialog
          eventTypes={query.data?.event_types ?? []}
          onClose={() => setIsAdding(false)}
          onCreated={({ secret }) => setShown({ secret, oldSignsUntil: null })}
        />
      )}
      {shown && (
        <SecretDialog
          title="Save your signing secret"
          secret={shown.secret}
          of="the signing secret"
          copy="Copy secret"
          warning="Copy this secret now. We can't show it again."
          onClose={() => setShown(null)}
        >
          <p>
            Use it to verify the signature of every event, with any Standard Webhooks library and the raw
            body.
            {shown.oldSignsUntil &&
              ` Events are also signed with the old secret until ${formatMoment(shown.oldSignsUntil)}.`}
          </p>
        </SecretDialog>
      )}
    </>
  )
}

/** Asks for the address of an endpoint and the events to send to it. */
function NewWebhookDialog(props: {
  eventTypes: string[]
  onClose: () => void
  onCreated: (created: CreatedWebhook) => void
}) {
  const { eventTypes, onClose, onCreated } = props
  const [chosen, setChosen] = useState<string[]>([])
  return (
    <FormDialog
      title="Add endpoint"
      submit="Add endpoint"
      pending="Adding …"
      initial={{ url: '' }}
      check={({ url }) => ({
        url: URL.canParse(url.trim()) ? null : 'Enter a valid URL, for example https://example.com/hooks.',
      })}
      send={({ url }) => {
        const body: NewWebhookBody = { url: url.trim(), event_types: chosen }
        return requestJson<CreatedWebhook>('POST', '/console/api/webhooks', body)
      }}
      stale={['/console/api/webhooks']}
      onDone={onCreated}
      onClose={onClose}
    >
      {(field) => (
        <>
          <TextField
            label="Endpoint URL"
            type="url"
            inputMode="url"
            {...field('url')}
            placeholder="https://example.com/hooks"
            required
          />
          <fieldset className="field stack content-start gap-1">
            <legend className="text-sm font-medium">Events</legend>
            <p className="text-sm text-muted">
              Select none to receive all events, including types added later.
            </p>
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
        </>
      )}
    </FormDialog>
  )
}
