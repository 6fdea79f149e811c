import { useMutation, useQueryClient } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { OperatorKey } from '../../../../src/core/api/keys.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { Badge } from '../../../components/badge.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Money } from '../../../components/money.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { formatDate } from '../../../lib/dates.ts'
import { rateLimitsText } from '../../../lib/figures.ts'
import { KeyLimitsDialog } from './key-limits-dialog.tsx'

const PERIODS: Record<OperatorKey['limit_reset'], string> = {
  none: 'in all',
  daily: 'a day',
  weekly: 'a week',
  monthly: 'a month',
}

/** The keys of an account by their first and last characters; their secrets are nowhere. */
export function AccountKeys({ accountId, keys }: { accountId: string; keys: readonly OperatorKey[] }) {
  const [revoking, setRevoking] = useState<OperatorKey | null>(null)
  const [limiting, setLimiting] = useState<OperatorKey | null>(null)
  if (keys.length === 0)
    return (
      <EmptyState icon={KeyRound}>
        No keys yet. The account holder makes them under API keys, or make one with: npm run admin -- key
        create --account {accountId}
      </EmptyState>
    )
  return (
    <>
      <DataTable
        caption="Keys of the account"
        rows={keys}
        rowKey={({ id }) => id}
        columns={[
          {
            header: 'Key',
            title: true,
            cell: (key) => (
              <span className="stack-tight">
                <span>
                  {key.name} {key.state === 'revoked' && <Badge tone="bad">revoked</Badge>}
                </span>
                <code className="small muted">{key.hint}</code>
              </span>
            ),
          },
          { header: 'Id', cell: ({ id }) => <code className="small anywhere">{id}</code> },
          {
            header: 'Limit',
            cell: ({ limit_usd: usd, limit_reset: reset }) =>
              usd === null ? (
                'none'
              ) : (
                <>
                  <Money usd={usd} /> {PERIODS[reset]}
                </>
              ),
          },
          {
            header: 'Rate limits',
            cell: (key) => (
              <span className="stack-small">
                <span className="nowrap">
                  {rateLimitsText(key.requests_per_minute, key.concurrent_calls)}
                </span>
                {(key.customer_requests_per_minute ?? key.customer_concurrent_calls) !== null && (
                  <span className="small muted">
                    the customer set{' '}
                    {rateLimitsText(key.customer_requests_per_minute, key.customer_concurrent_calls)}
                  </span>
                )}
              </span>
            ),
          },
          { header: 'Created', cell: (key) => formatDate(key.created_at) },
          {
            header: 'Actions',
            numeric: true,
            cell: (key) =>
              key.state === 'active' && (
                <span className="table-actions">
                  <button type="button" className="button button-small" onClick={() => setLimiting(key)}>
                    Limits<span className="visually-hidden"> of the key {key.name}</span>
                  </button>
                  <button type="button" className="button button-small" onClick={() => setRevoking(key)}>
                    Revoke<span className="visually-hidden"> the key {key.name}</span>
                  </button>
                </span>
              ),
          },
        ]}
      />
      <RevokeDialog keyView={revoking} onClose={() => setRevoking(null)} />
      <KeyLimitsDialog keyView={limiting} onClose={() => setLimiting(null)} />
    </>
  )
}

function RevokeDialog({ keyView, onClose }: { keyView: OperatorKey | null; onClose: () => void }) {
  const client = useQueryClient()
  const revoke = useMutation({
    mutationFn: ({ id }: OperatorKey) =>
      requestJson<OperatorKey>('POST', `${OPERATOR_API}/keys/${encodeURIComponent(id)}/revoke`),
    onSuccess: ({ name }) => {
      void client.invalidateQueries({ queryKey: ['operator', 'account'] })
      showToast(`The key “${name}” is revoked.`)
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={`Revoke “${keyView?.name ?? ''}”?`}
      confirm="Revoke the key"
      isOpen={keyView !== null}
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => keyView && revoke.mutate(keyView)}
      onClose={() => {
        revoke.reset()
        onClose()
      }}
    >
      <p>
        This is the customer’s key <code>{keyView?.hint}</code>. Calls with it are refused from the next
        second on, for good.
      </p>
    </ConfirmDialog>
  )
}
