import type { OperatorActionView } from '../../../src/core/api/operations.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatMoment } from '../../lib/format.ts'
import { AccountLink } from './links.tsx'

/** Rows of the audit log of operators. */
export function ActionTable({ actions }: { actions: readonly OperatorActionView[] }) {
  return (
    <DataTable
      caption="Admin activity, newest first"
      rows={actions}
      columns={{
        Action: ({ action, outcome }) => (
          <>
            {action} {outcome === 'failed' && <Badge tone="bad">failed</Badge>}
          </>
        ),
        When: ({ at }) => <span className="whitespace-nowrap">{formatMoment(at)}</span>,
        Target: ({ target }) => <Target target={target} />,
        Details: ({ details }) => <Details details={details} />,
        By: ({ actor }) => <code className="text-sm wrap-anywhere">{actor}</code>,
      }}
      long={['Details']}
    />
  )
}

function Target({ target }: { target: string }) {
  return (
    <code className="text-sm wrap-anywhere">
      {target.startsWith('acct_') ? <AccountLink id={target} /> : target}
    </code>
  )
}

function Details({ details }: { details: Record<string, unknown> }) {
  const entries = Object.entries(details)
  if (entries.length === 0) return <span className="text-muted">–</span>
  return (
    <span className="wrap-anywhere">
      {entries
        .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join('; ')}
    </span>
  )
}
