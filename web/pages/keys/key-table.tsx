import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { KeyView, OperatorKey } from '../../../src/core/api/keys.ts'
import { RowMenu } from '../../components/form/row-menu.tsx'
import { DataTable, InCard, TwoLines } from '../../components/table/data-table.tsx'
import type { TableSort } from '../../components/table/table-sort.tsx'
import { Money } from '../../components/text/money.tsx'
import { Ago, Badge } from '../../components/text/values.tsx'
import { formatDate, formatMoment, rateLimitsText } from '../../lib/format.ts'
import { EditKeyDialog, RevokeKeyDialog } from './key-dialogs.tsx'

/** What columns of keys are sorted by. */
const SORTED = { Name: 'name', Spent: 'spent', Limit: 'limit', 'Last used': 'used', Created: 'created' }

/** Keys with what they spent and may spend. `mayChange`: with buttons to edit and to revoke them. */
export const KeyTable = (props: {
  keys: readonly KeyView[]
  sort: Omit<TableSort<string>, 'columns'>
  mayChange?: boolean
}) => (
  <DataTable
    caption="API keys"
    rows={props.keys}
    sort={{ ...props.sort, columns: SORTED }}
    columns={{
      Name: (key) => (
        <KeyName apiKey={key} link={<KeyLink apiKey={key} />}>
          {key.state !== 'revoked' && key.state !== 'expired' && key.expires_at && (
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
          <InCard>{'limit '}</InCard>
          <SpendingLimit apiKey={key} />
        </TwoLines>
      ),
      'Rate limits': (key) =>
        rateLimitsText(key.effective_requests_per_minute, key.effective_concurrent_calls),
      'Last used': ({ last_used_at: at }) => (
        <span>
          <InCard>{'used '}</InCard>
          {at === null ? 'never' : <Ago at={at} />}
        </span>
      ),
      Created: (key) => <span className="whitespace-nowrap">{formatDate(key.created_at)}</span>,
      Actions:
        props.mayChange === true &&
        ((key) => (
          <RowMenu
            about={`the key ${key.name}`}
            actions={[
              { name: 'Edit', dialog: (close) => <EditKeyDialog apiKey={key} onClose={close} /> },
              { name: 'Revoke', dialog: (close) => <RevokeKeyDialog apiKey={key} onClose={close} /> },
            ]}
          />
        )),
    }}
    numeric={['Spent']}
    brief={['Limit', 'Last used']}
  />
)

const KeyLink = ({ apiKey: { id, name, hint } }: { apiKey: KeyView }) => (
  <Link to="/keys/$id" params={{ id }}>
    {name || hint}
  </Link>
)

const PERIODS: Record<KeyView['limit_reset'], string> = {
  none: 'total',
  daily: 'per day',
  weekly: 'per week',
  monthly: 'per month',
}

/** What keeps a key from working; nothing of one that works. */
export function KeyState({ apiKey }: { apiKey: KeyView | OperatorKey }) {
  const { state, paused_at: pausedAt } = apiKey
  const left = 'remaining_usd' in apiKey ? apiKey.remaining_usd : null
  if (state === 'revoked') return <Badge tone="bad">revoked</Badge>
  if (state === 'expired') return <Badge tone="warn">expired</Badge>
  if (pausedAt !== null) return <Badge tone="warn">paused</Badge>
  return left !== null && Number(left) <= 0 && <Badge tone="warn">limit reached</Badge>
}

/** Says of a key or a call that prompts and answers are kept. */
export const PromptsLogged = () => <Badge tone="accent">prompts logged</Badge>

/** The cells that tables of keys share, for account holders and for operators. `link`: its name as a link. */
export function KeyName(props: { apiKey: KeyView | OperatorKey; link?: ReactNode; children?: ReactNode }) {
  const { apiKey, link, children } = props
  const { hint } = apiKey
  return (
    <span className="stack-tight">
      <span>
        {link ?? apiKey.name} <KeyState apiKey={apiKey} />
        {'prompt_log_days' in apiKey && apiKey.prompt_log_days !== null && <PromptsLogged />}
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
