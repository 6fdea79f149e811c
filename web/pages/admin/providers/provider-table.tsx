import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ProviderView } from '../../../../src/core/api/offers.ts'
import { Button } from '../../../components/form/button.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../../../lib/format.ts'
import { EnableDialog } from '../enable-dialog.tsx'
import { BreakerBadge, OffersHealth, SuccessShare } from './health.tsx'

/** Providers with their health and the outcomes of calls. */
export function ProviderTable({ providers }: { providers: readonly ProviderView[] }) {
  const [enabling, setEnabling] = useState<string | null>(null)
  return (
    <>
      <DataTable
        caption="Providers"
        rows={providers}
        columns={{
          Provider: ({ id, name }) => (
            <TwoLines second={<code>{id}</code>}>
              <Link to="/admin/providers/$id" params={{ id }}>
                {name}
              </Link>
            </TwoLines>
          ),
          Offers: ({ health }) => <OffersHealth health={health} />,
          'Shared / all': ({ shared_offers: shared, offers }) => (
            <span className="nowrap">
              {formatCount(shared)} / {formatCount(offers)}
            </span>
          ),
          'Success, 1 min': ({ last_minute: counts }) => <SuccessShare counts={counts} />,
          'Success, 10 min': ({ last_ten_minutes: counts }) => <SuccessShare counts={counts} />,
          'Its own breaker': (provider) => <OwnBreaker provider={provider} />,
          Actions: ({ id, name, breaker }) =>
            breaker.breaker === 'closed' ? (
              ''
            ) : (
              <Button size="small" about={name} onClick={() => setEnabling(id)}>
                Re-enable
              </Button>
            ),
        }}
        numeric={['Shared / all', 'Success, 1 min', 'Success, 10 min', 'Actions']}
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
