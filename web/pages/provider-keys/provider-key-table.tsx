import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ProviderKeyPatch, ProviderKeyView } from '../../../src/core/api/provider-keys.ts'
import { messageOf, requestJson } from '../../api/request.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { CheckField } from '../../components/check-field.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatAgo, formatDate, formatMoment } from '../../lib/dates.ts'

const TONES: Record<ProviderKeyView['status'], Tone> = {
  active: 'good',
  unchecked: 'plain',
  refused: 'bad',
  failing: 'bad',
  disabled: 'plain',
}

/** Provider keys with how they do, and the switches of each. */
export function ProviderKeyTable(props: {
  keys: readonly ProviderKeyView[]
  onRemove: (key: ProviderKeyView) => void
}) {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: ({ id, body }: { id: string; body: ProviderKeyPatch }) =>
      requestJson<ProviderKeyView>('PATCH', `/console/api/provider-keys/${encodeURIComponent(id)}`, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['provider-keys'] }),
    onError: (error) => showToast(messageOf(error)),
  })
  return (
    <DataTable
      caption="Provider keys"
      rows={props.keys}
      rowKey={({ id }) => id}
      columns={[
        {
          header: 'Provider',
          title: true,
          cell: (key) => (
            <span className="stack-small">
              <span>{key.provider_name}</span>
              <span className="small muted">
                {key.name && `${key.name} · `}
                <code>…{key.last4}</code> · since {formatDate(key.created_at)}
              </span>
            </span>
          ),
        },
        { header: 'Status', cell: (key) => <StatusOf providerKey={key} /> },
        {
          header: 'When it fails',
          cell: (key) => (
            <FallbackSwitch
              // What the gateway says replaces what was clicked, also when it refused.
              key={`${key.id} ${key.allow_fallback} ${change.failureCount}`}
              providerKey={key}
              onChange={(checked) => change.mutate({ id: key.id, body: { allow_fallback: checked } })}
            />
          ),
        },
        {
          header: 'Actions',
          numeric: true,
          cell: (key) => (
            <span className="table-actions">
              <button
                type="button"
                className="button button-small"
                disabled={change.isPending}
                onClick={() => change.mutate({ id: key.id, body: { disabled: key.status !== 'disabled' } })}
              >
                {key.status === 'disabled' ? 'Enable' : 'Disable'}
                <span className="visually-hidden"> the key for {key.provider_name}</span>
              </button>
              <button type="button" className="button button-small" onClick={() => props.onRemove(key)}>
                Remove<span className="visually-hidden"> the key for {key.provider_name}</span>
              </button>
            </span>
          ),
        },
      ]}
    />
  )
}

/** Shows the click at once, before the gateway has answered. */
function FallbackSwitch(props: { providerKey: ProviderKeyView; onChange: (checked: boolean) => void }) {
  const { providerKey, onChange } = props
  const [isChecked, setIsChecked] = useState(providerKey.allow_fallback)
  return (
    <CheckField
      label={
        <>
          use shared capacity<span className="visually-hidden"> for {providerKey.provider_name}</span>
        </>
      }
      checked={isChecked}
      onChange={(checked) => {
        setIsChecked(checked)
        onChange(checked)
      }}
    />
  )
}

function StatusOf({ providerKey }: { providerKey: ProviderKeyView }) {
  return (
    <span className="stack-small">
      <span>
        <Badge tone={TONES[providerKey.status]}>{providerKey.status}</Badge>
      </span>
      {providerKey.last_error && (
        <span className="small">
          {providerKey.last_error}
          {providerKey.last_error_at && (
            <span className="muted">
              {' '}
              (refused {formatAgo(providerKey.last_error_at, new Date())}, at{' '}
              {formatMoment(providerKey.last_error_at)})
            </span>
          )}
        </span>
      )}
    </span>
  )
}
