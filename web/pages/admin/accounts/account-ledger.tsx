import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AccountLedgerRow } from '../../../../src/core/api/account-ledger.ts'
import { accountLedgerQuery, ledgerCsvPath } from '../../../api/operator-queries.ts'
import { SelectField } from '../../../components/form/fields.tsx'
import { DataTable, ListPanel } from '../../../components/table/data-table.tsx'
import { Code } from '../../../components/text/code.tsx'
import { Money } from '../../../components/text/money.tsx'
import { Moment } from '../../../components/text/values.tsx'
import { BALANCE_ENTRY_NAMES } from '../../../lib/balance-entries.ts'
import { formatDay, plural } from '../../../lib/format.ts'
import { ActorName } from '../actor-name.tsx'

export const LEDGER_KIND_NAMES: Record<AccountLedgerRow['kind'], string> = {
  capture: 'Calls',
  credit: 'Credit by an operator',
  adjustment: 'Adjustment by an operator',
  ...BALANCE_ENTRY_NAMES,
}

const KINDS = [
  { value: '', name: 'All kinds' },
  ...Object.entries(LEDGER_KIND_NAMES).map(([value, name]) => ({ value, name })),
]
const CALLS = [
  { value: 'by_day', name: 'Summed by day' },
  { value: 'each', name: 'Each call' },
]

/** The ledger of an account: every transaction with the balance after it. */
export function AccountLedger({ accountId }: { accountId: string }) {
  const [kind, setKind] = useState('')
  const [calls, setCalls] = useState('by_day')
  const filter = { ...(kind !== '' && { kind }), calls }
  return (
    <ListPanel
      title="Ledger"
      query={accountLedgerQuery(accountId, filter)}
      empty={kind === '' ? 'No transactions yet.' : 'No transactions of this kind.'}
      actions={
        <a className="button button-small" href={ledgerCsvPath(accountId, filter)} download>
          Export CSV
        </a>
      }
      filters={
        <div className="columns gap-4 px-inset pb-4 [--column:12rem]">
          <SelectField label="Kind" value={kind} options={KINDS} onChange={setKind} />
          <SelectField label="Calls" value={calls} options={CALLS} onChange={setCalls} />
        </div>
      }
    >
      {(rows) => (
        <DataTable
          caption="Transactions of the account, newest first"
          rows={rows}
          columns={{
            Transaction: (row) => <What row={row} />,
            Date: (row) =>
              row.day ? (
                <span className="whitespace-nowrap">{formatDay(row.day)} (UTC)</span>
              ) : (
                <Moment at={row.at} />
              ),
            Reference: (row) => <Reference row={row} />,
            Amount: (row) => <Money usd={row.amount_usd} signed />,
            'Balance after': kind === '' && ((row) => row.balance_usd && <Money usd={row.balance_usd} />),
          }}
          numeric={['Amount', 'Balance after']}
          lead="Amount"
        />
      )}
    </ListPanel>
  )
}

function What({ row }: { row: AccountLedgerRow }) {
  const { kind, calls, model, reason, by } = row
  return (
    <span className="stack-tight">
      <span>
        {LEDGER_KIND_NAMES[kind]}
        {calls !== null && <span className="text-muted"> · {plural(calls, 'charged call')}</span>}
        {model !== null && <span className="text-muted"> · {model}</span>}
      </span>
      {reason !== null && <span className="text-sm wrap-anywhere">{reason}</span>}
      {by !== null && (
        <span className="text-sm text-muted">
          by <ActorName actor={by} />
        </span>
      )}
    </span>
  )
}

function Reference({ row: { call_id: call, top_up_id: topUp, day, id, kind } }: { row: AccountLedgerRow }) {
  if (call !== null)
    return (
      <Link to="/admin/calls/$id" params={{ id: call }}>
        <Code className="text-sm">{call}</Code>
      </Link>
    )
  // Free credit is granted once, so its reference is the account itself.
  if (day !== null || kind === 'free_credit') return '–'
  return <Code className="text-sm">{topUp ?? id.slice(0, -kind.length - 1)}</Code>
}
