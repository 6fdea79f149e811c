import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { Badge } from '../../../components/badge.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { Money } from '../../../components/money.tsx'
import { formatMoment } from '../../../lib/dates.ts'

type Detail = Pick<OperatorAccountDetail, 'top_ups' | 'suspensions'>

/** Money that came in, and suspensions by money that went back. */
export function AccountTopUps(props: { topUps: Detail['top_ups']; suspensions: Detail['suspensions'] }) {
  const { topUps, suspensions } = props
  return (
    <>
      {topUps.length === 0 ? (
        <p className="panel-body muted">No top-ups yet.</p>
      ) : (
        <DataTable
          caption="Top-ups, newest first"
          rows={topUps}
          rowKey={({ id }) => id}
          columns={[
            { header: 'Payment', title: true, cell: ({ id }) => <code className="anywhere">{id}</code> },
            { header: 'Rail', cell: ({ rail }) => rail },
            { header: 'State', cell: ({ state }) => <Badge>{state}</Badge> },
            { header: 'Asked for', numeric: true, cell: ({ amount_usd: usd }) => <Money usd={usd} /> },
            { header: 'Settled', numeric: true, cell: ({ settled_usd: usd }) => <Money usd={usd} /> },
            { header: 'Begun', cell: (topUp) => formatMoment(topUp.created_at) },
          ]}
        />
      )}
      {suspensions.length > 0 && (
        <DataTable
          caption="Suspensions by money that went back"
          rows={suspensions}
          rowKey={({ id }) => id}
          columns={[
            { header: 'Suspended for', title: true, cell: ({ reason }) => reason },
            { header: 'When', cell: ({ at }) => formatMoment(at) },
            { header: 'Payment', cell: (row) => <code className="anywhere">{row.payment_id}</code> },
            { header: 'Short by', numeric: true, cell: ({ shortfall_usd: usd }) => <Money usd={usd} /> },
          ]}
        />
      )}
    </>
  )
}
