import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ProviderView } from '../../../../src/core/api/offers.ts'
import { Button } from '../../../components/form/button.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../../../lib/format.ts'
import { EnableDialog } from '../enable-dialog.tsx'
import { SuccessShare } from './call-counts.tsx'
import { BreakerBadge, OffersHealth } from './health-badge.tsx'

/** Providers with their health and the outcomes of calls. */
export function ProviderTable({ providers }: { providers: readonly ProviderView[] }) {
  const [enabling, setEnabling] = useState<string | null>(null)
  return (
    <>
      <DataTable
        caption="Providers"
        rows={providers}
        columns={[
          {
            header: 'Provider',
            title: true,
            cell: ({ id, name }) => (
              <TwoLines second={<code>{id}</code>}>
                <Link to="/admin/providers/$id" params={{ id }}>
                  {name}
                </Link>
              </TwoLines>
            ),
          },
          { header: 'Offers', cell: ({ health }) => <OffersHealth health={health} /> },
          {
            header: 'Shared / all',
            numeric: true,
            cell: ({ shared_offers: shared, offers }) => (
              <span className="nowrap">
                {formatCount(shared)} / {formatCount(offers)}
              </span>
            ),
          },
          {
            header: 'Success, 1 min',
            numeric: true,
            cell: ({ last_minute: counts }) => <SuccessShare counts={counts} />,
          },
          {
            header: 'Success, 10 min',
            numeric: true,
            cell: ({ last_ten_minutes: counts }) => <SuccessShare counts={counts} />,
          },
          { header: 'Its own breaker', cell: (provider) => <OwnBreaker provider={provider} /> },
          {
            header: 'Actions',
            numeric: true,
            cell: ({ id, name, breaker }) =>
              breaker.breaker === 'closed' ? (
                ''
              ) : (
                <Button size="small" about={name} onClick={() => setEnabling(id)}>
                  Re-enable
                </Button>
              ),
          },
        ]}
      />
      {enabling && <EnableDialog subject={enabling} onClose={() => setEnabling(null)} />}
    </>
  )
}

function OwnBreaker({ provider: { breaker } }: { provider: ProviderView }) {
  if (breaker.breaker === 'closed') return <BreakerBadge state="closed" />
  return (
    <span className="stack-tight">
      <BreakerBadge state={breaker.breaker} />
      <span className="small muted">
        {breaker.reason === 'refused' ? 'it refuses our key' : breaker.reason}
        {breaker.until && `; retried ${formatMoment(breaker.until)}`}
      </span>
    </span>
  )
}
