import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { useState } from 'react'
import { offersQuery, providersQuery } from '../../api/operator-queries.ts'
import { EmptyState, QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { formatCount, plural } from '../../lib/format.ts'
import { findOffers } from '../../lib/live-stats.ts'
import { OfferTable, ProviderTable } from './provider-tables.tsx'

const SHOWN = 50

/** One provider with its offers: health, success, percentiles, prices. */
export function ProviderPage() {
  const { id } = useParams({ from: '/operator/admin/providers/$id' })
  const providers = useQuery(providersQuery)
  const offers = useQuery(offersQuery({ provider: id }))
  const [search, setSearch] = useState('')
  const [shown, setShown] = useState(SHOWN)
  const provider = providers.data?.data.find((row) => row.id === id)
  return (
    <>
      <PageHead
        back={<Link to="/admin/providers">← Providers</Link>}
        title={provider?.name ?? id}
        description={
          provider && (
            <>
              Wire {provider.wire};{' '}
              {provider.zdr ? 'keeps no prompts or completions' : 'may keep prompts and completions'};{' '}
              {provider.data_collection === 'deny' ? 'does not train on them' : 'may train on them'}.
            </>
          )
        }
      />
      {provider && (
        <Panel title="The whole provider">
          <ProviderTable providers={[provider]} />
        </Panel>
      )}
      <Panel title="Offers">
        <div className="panel-body">
          <TextField
            label="Search offers"
            type="search"
            value={search}
            onChange={(text) => {
              setSearch(text)
              setShown(SHOWN)
            }}
            placeholder="a model or the provider’s name for it"
          />
        </div>
        <QueryView query={offers}>
          {({ data }) => {
            const found = findOffers(data, search)
            if (found.length === 0)
              return (
                <EmptyState icon={PlugZap}>
                  {data.length === 0
                    ? 'No model has an offer of this provider. Add one under Catalog edits.'
                    : 'No offer matches these words.'}
                </EmptyState>
              )
            return (
              <>
                <OfferTable offers={found.slice(0, shown)} titledBy="model" />
                {found.length > shown && (
                  <div className="flex justify-center border-t border-line p-3">
                    <Button size="small" onClick={() => setShown(shown + SHOWN)}>
                      Show more of {plural(found.length, 'offer')} ({formatCount(found.length - shown)} left)
                    </Button>
                  </div>
                )}
              </>
            )
          }}
        </QueryView>
      </Panel>
    </>
  )
}
