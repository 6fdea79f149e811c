import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { useState } from 'react'
import { catalogQuery } from '../../api/operator-queries.ts'
import { useOffers, useProviders } from '../../api/use-moving.ts'
import { EmptyState, QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { formatCount, plural } from '../../lib/format.ts'
import { findOffers } from '../../lib/live-stats.ts'
import { providerChange, withProviderChange } from '../../lib/operators/catalog-edits.ts'
import { ApplyEditsDialog, type ProposedEdits } from './catalog/apply-edits-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'
import { PlatformKeyPanel } from './providers/platform-key.tsx'
import { OfferTable, ProviderTable } from './providers/provider-tables.tsx'

const WIRE_NAMES: Record<string, string> = {
  'chat-completions': 'OpenAI chat completions',
  'anthropic-messages': 'Anthropic messages',
  'google-generate-content': 'Google Gemini',
}

const SHOWN = 50

/** One provider with its offers: health, success, percentiles, prices. */
export function ProviderPage() {
  const { id } = useParams({ from: '/operator/admin/providers/$id' })
  const providers = useProviders()
  const offers = useOffers({ provider: id })
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
              API: {WIRE_NAMES[provider.wire] ?? provider.wire} ·{' '}
              {provider.zdr ? 'no retention' : 'may retain prompts'} ·{' '}
              {provider.data_collection === 'deny' ? 'no training' : 'may train on prompts'}
            </>
          )
        }
      />
      {provider && (
        <Panel title="Provider">
          <ProviderTable providers={[provider]} />
        </Panel>
      )}
      <ProviderSwitch id={id} name={provider?.name ?? id} />
      {provider && <PlatformKeyPanel provider={provider} />}
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
                    ? 'No model has an offer of this provider. Add one under Catalog overrides.'
                    : 'No offers found.'}
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

/** Takes all offers of a provider out of use, or back into it, as an edit of the catalog. */
function ProviderSwitch({ id, name }: { id: string; name: string }) {
  const [proposed, setProposed] = useState<ProposedEdits | null>(null)
  return (
    <QueryView query={useQuery(catalogQuery)}>
      {({ edits }) => {
        const content = edits?.content ?? {}
        const isDisabled = providerChange(content, id)?.disabled === true
        const propose = () =>
          setProposed({
            content: withProviderChange(content, id, { disabled: isDisabled ? undefined : true }),
            title: isDisabled ? `Enable ${name}?` : `Disable ${name}?`,
            what: (
              <p>
                {isDisabled
                  ? `${name} receives calls again within a second.`
                  : `${name} receives no new calls within a second, also not with customers’ own provider keys. Running calls complete.`}
              </p>
            ),
          })
        return (
          <Panel title="Use" padded>
            <div className="spread">
              <p>
                {isDisabled
                  ? 'Disabled by the current overrides: it receives no calls.'
                  : 'Enabled: its offers receive calls while they are healthy.'}
              </p>
              <OperatorButton needs="catalog.write" onClick={propose}>
                {isDisabled ? 'Enable provider' : 'Disable provider'}
              </OperatorButton>
            </div>
            {proposed && (
              <ApplyEditsDialog proposed={proposed} from={edits} onClose={() => setProposed(null)} />
            )}
          </Panel>
        )
      }}
    </QueryView>
  )
}
