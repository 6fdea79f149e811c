import type { KeyView } from '../../../src/core/api/keys.ts'
import { Button } from '../../components/form/button.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/values.tsx'
import { formatAgo, formatDate, formatMoment, rateLimitsText } from '../../lib/format.ts'
import { KeyName, SpendingLimit } from './key-cells.tsx'

/** Keys with what they spent and may spend; without `onRevoke` none can be revoked. */
export function KeyTable(props: { keys: readonly KeyView[]; onRevoke?: (key: KeyView) => void }) {
  const { keys, onRevoke } = props
  return (
    <DataTable
      caption="API keys"
      rows={keys}
      columns={{
        Name: (key) => (
          <KeyName apiKey={key}>
            {key.state === 'active' && key.expires_at && (
              <span className="small muted">expires {formatMoment(key.expires_at)}</span>
            )}
          </KeyName>
        ),
        Spent: (key) => <Money usd={key.spent_usd} />,
        Limit: (key) => (
          <span className="stack-small">
            <SpendingLimit apiKey={key} />
            {key.remaining_usd !== null && (
              <span className="small muted">
                <Money usd={key.remaining_usd} /> left
              </span>
            )}
          </span>
        ),
        'Rate limits': (key) => (
          <span className="nowrap">{rateLimitsText(key.requests_per_minute, key.concurrent_calls)}</span>
        ),
        'Last used': ({ last_used_at: at }) => (at === null ? 'never' : <Ago at={at} />),
        Created: (key) => <span className="nowrap">{formatDate(key.created_at)}</span>,
        Actions:
          onRevoke !== undefined &&
          ((key) => (
            <Button size="small" about={`the key ${key.name}`} onClick={() => onRevoke(key)}>
              Revoke
            </Button>
          )),
      }}
      numeric={['Actions']}
    />
  )
}

function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatMoment(at)} className="nowrap">
      {formatAgo(at, new Date())}
    </time>
  )
}
