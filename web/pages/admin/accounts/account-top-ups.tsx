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
        columns={{
          Payment: ({ id }) => <code className="anywhere">{id}</code>,
          Rail: ({ rail }) => rail,
          State: ({ state }) => <Badge>{state}</Badge>,
          Requested: ({ amount_usd: usd }) => <Money usd={usd} />,
          Settled: ({ settled_usd: usd }) => <Money usd={usd} />,
          Created: (topUp) => formatMoment(topUp.created_at),
        }}
        numeric={['Requested', 'Settled']}
      />
      {suspensions.length > 0 && (
        <DataTable
          caption="Suspensions after reversed payments"
          rows={suspensions}
          columns={{
            'Suspended for': ({ reason }) => reason,
            When: ({ at }) => formatMoment(at),
            Payment: (row) => <code className="anywhere">{row.payment_id}</code>,
            'Short by': ({ shortfall_usd: usd }) => <Money usd={usd} />,
          }}
          numeric={['Short by']}
        />
      )}
    </>
  )
}
