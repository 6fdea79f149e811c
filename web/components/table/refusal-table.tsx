import type { ReactNode } from 'react'
import type { OperatorRefusalView, RefusalView } from '../../../src/core/api/refusals.ts'
import { errorReason } from '../../lib/error-reasons.ts'
import { formatCount, formatMoment } from '../../lib/format.ts'
import { DataTable, TwoLines } from './data-table.tsx'

type Row = RefusalView & Partial<OperatorRefusalView>

/** Requests that were refused before a call was admitted, by reason and key. `account`: shows whose they are. */
export const RefusalTable = (props: {
  rows: readonly Row[]
  empty: string
  account?: (row: Row) => ReactNode
  zone?: string
}) => (
  <DataTable
    caption="Refused requests, the most frequent first"
    rows={props.rows}
    rowKey={({ account_id: account, key_id: key, code }) => `${account} ${key} ${code}`}
    empty={props.empty}
    columns={{
      Reason: ({ code, status }) => (
        <TwoLines
          second={
            <code>
              {status} {code}
            </code>
          }
        >
          {errorReason(code)}
        </TwoLines>
      ),
      Account: props.account ?? false,
      'API key': ({ key_id: id, key_name: name }) =>
        id === null ? (
          <span className="text-muted">not known</span>
        ) : (
          <TwoLines second={<code className="wrap-anywhere">{id}</code>}>{name || 'unnamed'}</TwoLines>
        ),
      Requests: ({ requests }) => formatCount(requests),
      Last: ({ last_at: at }) => <span className="whitespace-nowrap">{formatMoment(at, props.zone)}</span>,
    }}
    numeric={['Requests', 'Last']}
  />
)
