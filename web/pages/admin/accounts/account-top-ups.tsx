import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Badge, Money } from '../../../components/text/values.tsx'
import { formatMoment } from '../../../lib/format.ts'

type Detail = Pick<OperatorAccountDetail, 'top_ups' | 'suspensions'>

/** Payments received, and suspensions after reversed payments. */
export function AccountTopUps(props: { topUps: Detail['top_ups']; suspensions: Detail['suspensions'] }) {
  const { topUps, suspensions } = props
  return (
    <>
      <DataTable
        caption="Top-ups, newest first"
        rows={topUps}
        empty="No top-ups yet."
        columns={[
          { header: 'Payment', title: true, cell: ({ id }) => <code className="anywhere">{id}</code> },
          { header: 'Rail', cell: ({ rail }) => rail },
          { header: 'State', cell: ({ state }) => <Badge>{state}</Badge> },
          { header: 'Requested', numeric: true, cell: ({ amount_usd: usd }) => <Money usd={usd} /> },
          { header: 'Settled', numeric: true, cell: ({ settled_usd: usd }) => <Money usd={usd} /> },
          { header: 'Created', cell: (topUp) => formatMoment(topUp.created_at) },
        ]}
      />
      {suspensions.length > 0 && (
        <DataTable
          caption="Suspensions after reversed payments"
          rows={suspensions}
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
