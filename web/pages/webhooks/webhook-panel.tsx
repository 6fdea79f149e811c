import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryView, RotatedSecret, WebhookView } from '../../../src/core/api/webhooks.ts'
import { deliveriesQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Badge, StateBadge } from '../../components/text/values.tsx'
import { deliveryOutcome } from '../../lib/delivery-problem.ts'
import { formatDuration, formatMoment, plural } from '../../lib/format.ts'

export interface ShownSecret {
  secret: string
  /** Until when the former secret signs beside it; null: there was none. */
  oldSignsUntil: string | null
}

/** One endpoint: its events, whether it accepts them, and the latest deliveries. */
export function WebhookPanel({
  webhook,
  onSecret,
}: {
  webhook: WebhookView
  onSecret: (secret: ShownSecret) => void
}) {
  const { id, url, enabled, event_types: types } = webhook
  const endpoint = path`/console/api/webhooks/${id}`
  const stale = ['/console/api/webhooks']
  const [asking, setAsking] = useState<'delete' | 'rotate' | null>(null)
  const close = () => setAsking(null)
  const [isOpen, setIsOpen] = useState(false)
  const test = useAction({
    send: () => requestJson('POST', `${endpoint}/test`),
    stale,
    done: 'Test event sent. Its delivery appears below.',
    onDone: () => setIsOpen(true),
  })
  const enable = useAction({ send: () => requestJson('POST', `${endpoint}/enable`), stale })
  return (
    <section className="panel" aria-label={`Endpoint ${url}`}>
      <div className="spread px-inset pt-4">
        <h2 className="inline-flex max-w-full items-center gap-1">
          <code className="wrap-anywhere">{url}</code>
        </h2>
        <span className="row gap-2">
          <Button size="small" disabled={test.isPending} onClick={() => test.run()}>
            Send test event
          </Button>
          <Button size="small" onClick={() => setAsking('rotate')}>
            Rotate secret
          </Button>
          <Button size="small" onClick={() => setAsking('delete')}>
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
              <Button size="small" onClick={() => enable.run()}>
                Enable
              </Button>
            </p>
          </Note>
        )}
        {enabled && webhook.failing_since && (
          <Note tone="warn">
            Deliveries have failed since {formatMoment(webhook.failing_since)}. They are retried.
          </Note>
        )}
        <Deliveries webhookId={id} isOpen={isOpen} onToggle={setIsOpen} />
      </div>
      {asking === 'delete' && (
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
      {asking === 'rotate' && (
        <ConfirmDialog
          title="Rotate the signing secret?"
          confirm="Rotate secret"
          send={() => requestJson<RotatedSecret>('POST', `${endpoint}/rotate-secret`)}
          onDone={({ secret, old_secret_signs_until: oldSignsUntil }) => onSecret({ secret, oldSignsUntil })}
          onClose={close}
        >
          <p>Events are signed with both the old and the new secret for one day.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

/** The latest messages to an endpoint, read when the section is opened. */
function Deliveries(props: { webhookId: string; isOpen: boolean; onToggle: (isOpen: boolean) => void }) {
  const { webhookId, isOpen, onToggle } = props
  return (
    <details className="disclosure" open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
      <summary>Deliveries</summary>
      {isOpen && <DeliveryTable webhookId={webhookId} />}
    </details>
  )
}

function DeliveryTable({ webhookId }: { webhookId: string }) {
  const retry = useAction({
    send: (id: string) => requestJson('POST', path`/console/api/webhook-deliveries/${id}/retry`),
    stale: [path`/console/api/webhooks/${webhookId}`],
  })
  return (
    <QueryView query={useQuery(deliveriesQuery(webhookId))}>
      {({ data }) => (
        <DataTable
          caption="Deliveries, newest first"
          rows={data}
          empty="No deliveries yet. “Send test event” sends one now."
          columns={{
            Event: ({ type }) => <code>{type}</code>,
            When: (delivery) => formatMoment(delivery.created_at),
            State: ({ state }) => <StateBadge state={state} />,
            Attempts: (delivery) => <Attempts delivery={delivery} />,
            Actions: ({ id, state, event_id: event }) =>
              state === 'delivered' ? (
                '–'
              ) : (
                <Button
                  size="small"
                  about={`the event ${event}`}
                  disabled={retry.isPending}
                  onClick={() => retry.run(id)}
                >
                  Resend
                </Button>
              ),
          }}
        />
      )}
    </QueryView>
  )
}

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
