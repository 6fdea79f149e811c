import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { OperatorKey } from '../../../../src/core/api/keys.ts'
import { EmptyState } from '../../../components/feedback/messages.tsx'
import { Button } from '../../../components/form/button.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatDate, rateLimitsText } from '../../../lib/format.ts'
import { KeyName, SpendingLimit } from '../../keys/key-cells.tsx'
import { RevokeKeyDialog } from '../../keys/revoke-key-dialog.tsx'
import { KeyLimitsDialog } from './key-limits-dialog.tsx'

/** The keys of an account by their first and last characters; secrets are not stored. */
export function AccountKeys({ accountId, keys }: { accountId: string; keys: readonly OperatorKey[] }) {
  const [revoking, setRevoking] = useState<OperatorKey | null>(null)
  const [limiting, setLimiting] = useState<OperatorKey | null>(null)
  if (keys.length === 0)
    return (
      <EmptyState icon={KeyRound}>
        No keys yet. The account holder creates them under API keys, or create one with: npm run admin -- key
        create --account {accountId}
      </EmptyState>
    )
  return (
    <>
      <DataTable
        caption="Keys of the account"
        rows={keys}
        columns={{
          Key: (key) => <KeyName apiKey={key} />,
          Id: ({ id }) => <code className="small anywhere">{id}</code>,
          Limit: (key) => <SpendingLimit apiKey={key} />,
          'Rate limits': (key) => <RateLimits apiKey={key} />,
          Created: (key) => formatDate(key.created_at),
          Actions: (key) =>
            key.state === 'active' && (
              <span className="table-actions">
                <Button size="small" about={`of the key ${key.name}`} onClick={() => setLimiting(key)}>
                  Limits
                </Button>
                <Button size="small" about={`the key ${key.name}`} onClick={() => setRevoking(key)}>
                  Revoke
                </Button>
              </span>
            ),
        }}
        numeric={['Actions']}
      />
      {revoking && <RevokeKeyDialog isCustomers apiKey={revoking} onClose={() => setRevoking(null)} />}
      {limiting && <KeyLimitsDialog apiKey={limiting} onClose={() => setLimiting(null)} />}
    </>
  )
}

function RateLimits({ apiKey }: { apiKey: OperatorKey }) {
  const { customer_requests_per_minute: requests, customer_concurrent_calls: calls } = apiKey
  return (
    <span className="stack-small">
      <span className="nowrap">{rateLimitsText(apiKey.requests_per_minute, apiKey.concurrent_calls)}</span>
      {(requests ?? calls) !== null && (
        <span className="small muted">the customer set {rateLimitsText(requests, calls)}</span>
      )}
    </span>
  )
}
