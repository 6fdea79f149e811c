import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryView, RotatedSecret, WebhookView } from '../../../src/core/api/webhooks.ts'
import { deliveriesQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { ConfirmDialog, SecretDialog } from '../../components/feedback/dialogs.tsx'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { ActionButton } from '../../components/form/action-button.tsx'
import { Button } from '../../components/form/button.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Code } from '../../components/text/code.tsx'
import { Badge, Moment, StateBadge } from '../../components/text/values.tsx'
import { deliveryOutcome } from '../../lib/delivery-problem.ts'
import { formatDuration, formatMoment, plural } from '../../lib/format.ts'

/** The one time that a signing secret is shown. `oldSignsUntil`: until when the former one signs beside it. */
export function SigningSecret(props: { secret: string; oldSignsUntil?: string | null; onClose: () => void }) {
  const { secret, oldSignsUntil, onClose } = props
  return (
    <SecretDialog
      title="Save your signing secret"
      secret={secret}
      of="the signing secret"
      copy="Copy secret"
      warning="Copy this secret now. We can't show it again."
      onClose={onClose}
    >
      <p>
        Use it to verify the signature of every request, with any Standard Webhooks library and the raw body.
        {oldSignsUntil && ` Events are also signed with the old secret until ${formatMoment(oldSignsUntil)}.`}
      </p>
    </SecretDialog>
  )
}

/** One endpoint: its events, whether it accepts them, and the latest deliveries. */
export function WebhookPanel({ webhook }: { webhook: WebhookView }) {
  const { id, url, enabled, event_types: types } = webhook
  const endpoint = path`/console/api/webhooks/${id}`
  const stale = ['/console/api/webhooks']
  const [isOpen, setIsOpen] = useState(false)
  return (
    <section className="panel" aria-label={`Endpoint ${url}`}>
      <div className="spread px-inset pt-4">
        <h2 className="inline-flex max-w-full items-center gap-1">
          <Code>{url}</Code>
        </h2>
        <span className="row gap-2">
          <ActionButton
            size="small"
            action={{
              send: () => requestJson('POST', `${endpoint}/test`),
              stale,
              done: 'Test event sent. Its delivery appears below.',
              onDone: () => setIsOpen(true),
            }}
          >
            Send test event
          </ActionButton>
          <Button
            size="small"
            dialog={(close) => (
              <ConfirmDialog
                title="Rotate the signing secret?"
                confirm="Rotate secret"
                send={() => requestJson<RotatedSecret>('POST', `${endpoint}/rotate-secret`)}
                then={({ secret, old_secret_signs_until: until }, end) => (
                  <SigningSecret secret={secret} oldSignsUntil={until} onClose={end} />
                )}
                onClose={close}
              >
                <p>Events are signed with both the old and the new secret for one day.</p>
              </ConfirmDialog>
            )}
          >
            Rotate secret
          </Button>
          <Button
            size="small"
            dialog={(close) => (
              <ConfirmDialog
                title="Delete this endpoint?"
                confirm="Delete endpoint"
                send={() => requestJson('DELETE', endpoint)}
                stale={stale}
                onClose={close}
              >
                <p>
                  No more events are sent to <code>{url}</code>, and its deliveries are no longer shown here.
                </p>
              </ConfirmDialog>
            )}
          >
            Delete
          </Button>
        </span>
      </div>
      <div className="panel-body">
        <p className="row">
          <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'enabled' : 'disabled'}</Badge>
          {(types.length === 0 ? ['all events'] : types).map((type) => (
            <Badge key={type}>{type}</Badge>
          ))}
        </p>
        {!enabled && (
          <Note tone="bad">
            <p>
              No events are sent. {webhook.disabled_reason ?? ''}{' '}
              <ActionButton
                size="small"
                action={{ send: () => requestJson('POST', `${endpoint}/enable`), stale }}
              >
                Enable
              </ActionButton>
            </p>
          </Note>
        )}
        {enabled && webhook.failing_since && (
          <Note tone="warn">
            Deliveries have failed since {formatMoment(webhook.failing_since)}. They are retried.
          </Note>
        )}
        <details
          className="disclosure"
          open={isOpen}
          onToggle={(event) => setIsOpen(event.currentTarget.open)}
        >
          <summary>Deliveries</summary>
          {isOpen && <DeliveryTable webhookId={id} />}
        </details>
      </div>
    </section>
  )
}

/** The latest messages to an endpoint, read when the section is opened. */
const DeliveryTable = ({ webhookId }: { webhookId: string }) => (
  <QueryView query={useQuery(deliveriesQuery(webhookId))}>
    {({ data }) => (
      <DataTable
        caption="Deliveries, newest first"
        rows={data}
        empty="No deliveries yet. “Send test event” sends one now."
        columns={{
          Event: ({ type }) => <Code>{type}</Code>,
          When: (delivery) => <Moment at={delivery.created_at} />,
          State: ({ state }) => <StateBadge state={state} />,
          Attempts: (delivery) => <Attempts delivery={delivery} />,
          Actions: ({ id, state, event_id: event }) =>
            state === 'delivered' ? (
              '–'
            ) : (
              <ActionButton
                size="small"
                about={`the event ${event}`}
                action={{
                  send: () => requestJson('POST', path`/console/api/webhook-deliveries/${id}/retry`),
                  stale: [path`/console/api/webhooks/${webhookId}`],
                }}
              >
                Resend
              </ActionButton>
            ),
        }}
      />
    )}
  </QueryView>
)

function Attempts({ delivery }: { delivery: DeliveryView }) {
  const last = delivery.attempts.at(-1)
  if (!last) return 'none yet'
  return (
    <span>
      {plural(delivery.attempts.length, 'attempt')}, last: {deliveryOutcome(last)}
      {last.status_code !== null && ` in ${formatDuration(last.duration_ms)}`}
      {delivery.next_attempt_at && (
        <span className="text-muted"> · next {formatMoment(delivery.next_attempt_at)}</span>
      )}
    </span>
  )
}
