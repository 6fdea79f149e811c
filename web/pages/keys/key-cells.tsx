import type { ReactNode } from 'react'
import type { KeyView, OperatorKey } from '../../../src/core/api/keys.ts'
import { Badge, Money } from '../../components/text/values.tsx'

const PERIODS: Record<KeyView['limit_reset'], string> = {
  none: 'in all',
  daily: 'a day',
  weekly: 'a week',
  monthly: 'a month',
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
      <code className="small muted">{hint}</code>
      {children}
    </span>
  )
}

export function SpendingLimit({ apiKey }: { apiKey: KeyView | OperatorKey }) {
  if (apiKey.limit_usd === null) return 'none'
  return (
    <span className="nowrap">
      <Money usd={apiKey.limit_usd} /> {PERIODS[apiKey.limit_reset]}
    </span>
  )
}
