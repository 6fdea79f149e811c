import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryView } from '../../../src/core/api/webhooks.ts'
import { deliveriesQuery } from '../../api/queries.ts'
import { messageOf, requestJson } from '../../api/request.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatMoment } from '../../lib/dates.ts'
import { deliveryOutcome } from '../../lib/delivery-problem.ts'
import { formatDuration, plural } from '../../lib/figures.ts'

const TONES: Record<DeliveryView['state'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' }
const POLL_MS = 3_000

/** The latest messages to an endpoint, read once they are unfolded. */
export function Deliveries({ webhookId }: { webhookId: string }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className="disclosure" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Deliveries</summary>
      {isOpen && <DeliveryTable webhookId={webhookId} />}
    </details>
  )
}

function DeliveryTable({ webhookId }: { webhookId: string }) {
  const query = useQuery({ ...deliveriesQuery(webhookId), refetchInterval: POLL_MS })
  const client = useQueryClient()
  const retry = useMutation({
    mutationFn: (id: string) =>
      requestJson<DeliveryView>('POST', `/console/api/webhook-deliveries/${encodeURIComponent(id)}/retry`),
    onSuccess: () => client.invalidateQueries({ queryKey: ['deliveries', webhookId] }),
    onError: (error) => showToast(messageOf(error)),
  })
  return (
    <QueryView query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="muted">Nothing was sent yet. “Send a test” sends a message at once.</p>
        ) : (
          <DataTable
            caption="Deliveries, newest first"
            rows={data}
            rowKey={({ id }) => id}
            columns={[
              { header: 'Event', title: true, cell: ({ type }) => <code>{type}</code> },
              { header: 'When', cell: (delivery) => formatMoment(delivery.created_at) },
              { header: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
              { header: 'Attempts', cell: (delivery) => <Attempts delivery={delivery} /> },
              {
                header: 'Actions',
                numeric: true,
                cell: (delivery) =>
                  delivery.state === 'delivered' ? (
                    '–'
                  ) : (
                    <button
                      type="button"
                      className="button button-small"
                      disabled={retry.isPending}
                      onClick={() => retry.mutate(delivery.id)}
                    >
                      Send again<span className="visually-hidden"> the event {delivery.event_id}</span>
                    </button>
                  ),
              },
            ]}
          />
        )
      }
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
        <span className="muted"> · next {formatMoment(delivery.next_attempt_at)}</span>
      )}
    </span>
  )
}
