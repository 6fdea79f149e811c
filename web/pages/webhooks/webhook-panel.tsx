import { useState } from 'react'
import type { RotatedSecret, WebhookView } from '../../../src/core/api/webhooks.ts'
import { requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { ConfirmDialog } from '../../components/feedback/confirm-dialog.tsx'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatMoment } from '../../lib/format.ts'
import { Deliveries } from './deliveries.tsx'

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
  const path = `/console/api/webhooks/${encodeURIComponent(id)}`
  const stale = [['webhooks'], ['deliveries', id]]
  const [asking, setAsking] = useState<'delete' | 'rotate' | null>(null)
  const close = () => setAsking(null)
  const test = useAction({
    send: () => requestJson('POST', `${path}/test`),
    stale,
    done: 'A test message is on its way. See its delivery below.',
  })
  const enable = useAction({ send: () => requestJson('POST', `${path}/enable`), stale })
  return (
    <section className="panel" aria-label={`Endpoint ${url}`}>
      <div className="panel-head">
        <h2 className="identifier">
          <code>{url}</code>
        </h2>
        <span className="button-row">
          <Button size="small" disabled={test.isPending} onClick={() => test.run()}>
            Send a test
          </Button>
          <Button size="small" onClick={() => setAsking('rotate')}>
            New secret
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
              Nothing is sent. {webhook.disabled_reason ?? ''}{' '}
              <Button size="small" onClick={() => enable.run()}>
                Enable it again
              </Button>
            </p>
          </Note>
        )}
        {enabled && webhook.failing_since && (
          <Note tone="warn">
            It has accepted nothing since {formatMoment(webhook.failing_since)}. Messages are retried.
          </Note>
        )}
        <Deliveries webhookId={id} />
      </div>
      {asking === 'delete' && (
        <ConfirmDialog
          title="Delete this endpoint?"
          confirm="Delete it"
          send={() => requestJson('DELETE', path)}
          stale={stale}
          onClose={close}
        >
          <p>
            Nothing is sent to <code>{url}</code> any more, and its deliveries are no longer shown here.
          </p>
        </ConfirmDialog>
      )}
      {asking === 'rotate' && (
        <ConfirmDialog
          title="Create a new signing secret?"
          confirm="Create a new secret"
          send={() => requestJson<RotatedSecret>('POST', `${path}/rotate-secret`)}
          onDone={({ secret, old_secret_signs_until: oldSignsUntil }) => onSecret({ secret, oldSignsUntil })}
          onClose={close}
        >
          <p>The current secret signs beside it for a day, so that no message is lost during the change.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}
