import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryView } from '../../../src/core/api/webhooks.ts'
import { deliveriesQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Badge, type Tone } from '../../components/text/values.tsx'
import { deliveryOutcome } from '../../lib/delivery-problem.ts'
import { formatDuration, formatMoment, plural } from '../../lib/format.ts'

const TONES: Record<DeliveryView['state'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' }
const POLL_MS = 3_000

/** The latest messages to an endpoint, read when the section is opened. */
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
  const retry = useAction({
    send: (id: string) =>
      requestJson('POST', `/console/api/webhook-deliveries/${encodeURIComponent(id)}/retry`),
    stale: [['deliveries', webhookId]],
  })
  return (
    <QueryView query={query}>
      {({ data }) => (
        <DataTable
          caption="Deliveries, newest first"
          rows={data}
          empty="Nothing was sent yet. “Send a test” sends a message at once."
          columns={{
            Event: ({ type }) => <code>{type}</code>,
            When: (delivery) => formatMoment(delivery.created_at),
            State: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
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
                  Send again
                </Button>
              ),
          }}
          numeric={['Actions']}
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
        <span className="muted"> · next {formatMoment(delivery.next_attempt_at)}</span>
      )}
    </span>
  )
}
