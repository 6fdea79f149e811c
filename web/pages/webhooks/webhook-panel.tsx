import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { RotatedSecret, TestedWebhook, WebhookView } from '../../../src/core/api/webhooks.ts'
import { messageOf, requestJson } from '../../api/request.ts'
import { Badge } from '../../components/badge.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Note } from '../../components/note.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatMoment } from '../../lib/dates.ts'
import { Deliveries } from './deliveries.tsx'
import type { ShownSecret } from './webhook-secret-dialog.tsx'

type Asking = 'delete' | 'rotate' | null

/** One endpoint: what it hears, whether it takes it, and everything sent to it of late. */
export function WebhookPanel({
  webhook,
  onSecret,
}: {
  webhook: WebhookView
  onSecret: (secret: ShownSecret) => void
}) {
  const path = `/console/api/webhooks/${encodeURIComponent(webhook.id)}`
  const client = useQueryClient()
  const [asking, setAsking] = useState<Asking>(null)
  const refresh = () => {
    void client.invalidateQueries({ queryKey: ['webhooks'] })
    void client.invalidateQueries({ queryKey: ['deliveries', webhook.id] })
  }
  const onError = (error: Error) => showToast(messageOf(error))
  const test = useMutation({
    mutationFn: () => requestJson<TestedWebhook>('POST', `${path}/test`),
    onSuccess: () => {
      showToast('A test message is on its way. See its delivery below.')
      refresh()
    },
    onError,
  })
  const enable = useMutation({
    mutationFn: () => requestJson<WebhookView>('POST', `${path}/enable`),
    onSuccess: refresh,
    onError,
  })
  const remove = useMutation({
    mutationFn: () => requestJson('DELETE', path),
    onSuccess: () => {
      setAsking(null)
      refresh()
    },
  })
  const rotate = useMutation({
    mutationFn: () => requestJson<RotatedSecret>('POST', `${path}/rotate-secret`),
    gcTime: 0,
    onSuccess: ({ secret, old_secret_signs_until: oldSignsUntil }) => {
      setAsking(null)
      onSecret({ secret, oldSignsUntil })
    },
  })
  return (
    <section className="panel" aria-label={`Endpoint ${webhook.url}`}>
      <div className="panel-head">
        <h2 className="identifier">
          <code>{webhook.url}</code>
        </h2>
        <span className="button-row">
          <button
            type="button"
            className="button button-small"
            disabled={test.isPending}
            onClick={() => test.mutate()}
          >
            Send a test
          </button>
          <button type="button" className="button button-small" onClick={() => setAsking('rotate')}>
            New secret
          </button>
          <button type="button" className="button button-small" onClick={() => setAsking('delete')}>
            Delete
          </button>
        </span>
      </div>
      <div className="panel-body">
        <p className="row">
          {webhook.enabled ? <Badge tone="good">enabled</Badge> : <Badge tone="bad">disabled</Badge>}
          {webhook.event_types.length === 0 ? (
            <Badge>all events</Badge>
          ) : (
            webhook.event_types.map((type) => <Badge key={type}>{type}</Badge>)
          )}
        </p>
        {!webhook.enabled && (
          <Note tone="bad">
            <p>
              Nothing is sent. {webhook.disabled_reason ?? ''}{' '}
              <button type="button" className="button button-small" onClick={() => enable.mutate()}>
                Enable it again
              </button>
            </p>
          </Note>
        )}
        {webhook.enabled && webhook.failing_since && (
          <Note tone="warn">
            It has not taken anything since {formatMoment(webhook.failing_since)}. Messages are tried again.
          </Note>
        )}
        <Deliveries webhookId={webhook.id} />
      </div>
      <ConfirmDialog
        title="Delete this endpoint?"
        confirm="Delete it"
        isOpen={asking === 'delete'}
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setAsking(null)}
      >
        <p>
          Nothing is sent to <code>{webhook.url}</code> any more, and its deliveries are gone from this page.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title="Make a new signing secret?"
        confirm="Make a new secret"
        isOpen={asking === 'rotate'}
        isPending={rotate.isPending}
        error={rotate.error}
        onConfirm={() => rotate.mutate()}
        onClose={() => setAsking(null)}
      >
        <p>The present one signs beside it for a day, so that nothing is lost while you change it.</p>
      </ConfirmDialog>
    </section>
  )
}
