import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ProviderView } from '../../../../src/core/api/offers.ts'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { formatCount } from '../../../lib/figures.ts'
import { EnableDialog } from '../enable-dialog.tsx'
import { SuccessShare } from './call-counts.tsx'
import { BreakerBadge, OffersHealth } from './health-badge.tsx'

/** Providers with how calls to them end. */
export function ProviderTable({ providers }: { providers: readonly ProviderView[] }) {
  const [enabling, setEnabling] = useState<string | null>(null)
  const columns: Column<ProviderView>[] = [
    {
      header: 'Provider',
      title: true,
      cell: ({ id, name }) => (
        <span className="stack-tight">
          <Link to="/admin/providers/$id" params={{ id }}>
            {name}
          </Link>
          <code className="small muted">{id}</code>
        </span>
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
          <button type="button" className="button button-small" onClick={() => setEnabling(id)}>
            Re-enable<span className="visually-hidden"> {name}</span>
          </button>
        ),
    },
  ]
  return (
    <>
      <DataTable caption="Providers" columns={columns} rows={providers} rowKey={({ id }) => id} />
      <EnableDialog subject={enabling} onClose={() => setEnabling(null)} />
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
        {breaker.until && `; tried again ${formatMoment(breaker.until)}`}
      </span>
    </span>
  )
}
