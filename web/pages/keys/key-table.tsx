import type { KeyView } from '../../../src/core/api/keys.ts'
import { Badge } from '../../components/badge.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Money } from '../../components/money.tsx'
import { formatAgo, formatDate, formatMoment } from '../../lib/dates.ts'
import { rateLimitsText } from '../../lib/figures.ts'

const PERIODS: Record<KeyView['limit_reset'], string> = {
  none: 'in all',
  daily: 'a day',
  weekly: 'a week',
  monthly: 'a month',
}

/** Keys with what they spent and may spend; `onRevoke` is null where nothing can be revoked. */
export function KeyTable(props: { keys: readonly KeyView[]; onRevoke: ((key: KeyView) => void) | null }) {
  const { keys, onRevoke } = props
  const columns: Column<KeyView>[] = [
    { header: 'Name', title: true, cell: (key) => <NameOfKey keyView={key} /> },
    { header: 'Spent', cell: (key) => <Money usd={key.spent_usd} /> },
    { header: 'Limit', cell: (key) => <Limit keyView={key} /> },
    {
      header: 'Rate limits',
      cell: (key) => (
        <span className="nowrap">{rateLimitsText(key.requests_per_minute, key.concurrent_calls)}</span>
      ),
    },
    {
      header: 'Last used',
      cell: (key) =>
        key.last_used_at === null ? (
          'never'
        ) : (
          <time dateTime={key.last_used_at} title={formatMoment(key.last_used_at)} className="nowrap">
            {formatAgo(key.last_used_at, new Date())}
          </time>
        ),
    },
    { header: 'Created', cell: (key) => <span className="nowrap">{formatDate(key.created_at)}</span> },
  ]
  if (onRevoke) {
    columns.push({
      header: 'Actions',
      numeric: true,
      cell: (key) => (
        <button type="button" className="button button-small" onClick={() => onRevoke(key)}>
          Revoke<span className="visually-hidden"> the key {key.name}</span>
        </button>
      ),
    })
  }
  return <DataTable caption="API keys" columns={columns} rows={keys} rowKey={({ id }) => id} />
}

function NameOfKey({ keyView }: { keyView: KeyView }) {
  return (
    <span className="stack-small">
      <span>
        {keyView.name} {keyView.state === 'revoked' && <Badge tone="bad">revoked</Badge>}
        {keyView.state === 'expired' && <Badge tone="warn">expired</Badge>}
      </span>
      <code className="small muted">{keyView.hint}</code>
      {keyView.state === 'active' && keyView.expires_at && (
        <span className="small muted">expires {formatMoment(keyView.expires_at)}</span>
      )}
    </span>
  )
}

function Limit({ keyView }: { keyView: KeyView }) {
  if (keyView.limit_usd === null) return 'none'
  return (
    <span className="stack-small">
      <span className="nowrap">
        <Money usd={keyView.limit_usd} /> {PERIODS[keyView.limit_reset]}
      </span>
      {keyView.remaining_usd !== null && (
        <span className="small muted">
          <Money usd={keyView.remaining_usd} /> left
        </span>
      )}
    </span>
  )
}
