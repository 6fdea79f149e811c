import type { ReactNode } from 'react'
import type { KeyView, OperatorKey } from '../../../src/core/api/keys.ts'
import { Button } from '../../components/form/button.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatAgo, formatDate, formatMoment, rateLimitsText } from '../../lib/format.ts'

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
              <span className="text-sm text-muted">expires {formatMoment(key.expires_at)}</span>
            )}
          </KeyName>
        ),
        Spent: (key) => <Money usd={key.spent_usd} />,
        Limit: (key) => (
          <TwoLines
            second={
              key.remaining_usd !== null && (
                <>
                  <Money usd={key.remaining_usd} /> left
                </>
              )
            }
          >
            <SpendingLimit apiKey={key} />
          </TwoLines>
        ),
        'Rate limits': (key) => rateLimitsText(key.requests_per_minute, key.concurrent_calls),
        'Last used': ({ last_used_at: at }) => (at === null ? 'never' : <Ago at={at} />),
        Created: (key) => <span className="whitespace-nowrap">{formatDate(key.created_at)}</span>,
        Actions:
          onRevoke !== undefined &&
          ((key) => (
            <Button size="small" about={`the key ${key.name}`} onClick={() => onRevoke(key)}>
              Revoke
            </Button>
          )),
      }}
      numeric={['Spent']}
    />
  )
}

function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatMoment(at)} className="whitespace-nowrap">
      {formatAgo(at, new Date())}
    </time>
  )
}

const PERIODS: Record<KeyView['limit_reset'], string> = {
  none: 'total',
  daily: 'per day',
  weekly: 'per week',
  monthly: 'per month',
}

/** The cells that tables of keys share, for account holders and for operators. */
export function KeyName({ apiKey, children }: { apiKey: KeyView | OperatorKey; children?: ReactNode }) {
  const { name, state, hint } = apiKey
  return (
    <span className="stack-tight">
      <span>
        {name} {state === 'revoked' && <Badge tone="bad">revoked</Badge>}
        {state === 'expired' && <Badge tone="warn">expired</Badge>}
      </span>
      <code className="text-sm text-muted">{hint}</code>
      {children}
    </span>
  )
}

export function SpendingLimit({ apiKey }: { apiKey: KeyView | OperatorKey }) {
  if (apiKey.limit_usd === null) return 'none'
  return (
    <span className="whitespace-nowrap">
      <Money usd={apiKey.limit_usd} /> {PERIODS[apiKey.limit_reset]}
    </span>
  )
}
