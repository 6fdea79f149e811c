import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { CatalogEditsView } from '../../../src/core/api/catalog.ts'
import type { ProviderView } from '../../../src/core/api/offers.ts'
import { catalogQuery, offersQuery, providerHoursQuery, providersQuery } from '../../api/operator-queries.ts'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { StateBadge, Stats } from '../../components/text/values.tsx'
import { formatCount, formatDuration, formatMoment, formatShare } from '../../lib/format.ts'
import { providerChange, withProviderChange } from '../../lib/operators/catalog-edits.ts'
import { ApplyEditsDialog, type ProposedEdits } from './catalog/apply-edits-dialog.tsx'
import { OperatorButton } from './operator-button.tsx'
import { OffersHealth } from './providers/health.tsx'
import { KeyPoolPanel } from './providers/key-pool.tsx'
import { PlatformKeyPanel } from './providers/platform-key.tsx'
import { ProviderHistory } from './providers/provider-history.tsx'
import { ProviderOffers } from './providers/provider-offers.tsx'
import { EnableButton, OwnBreaker } from './providers/provider-tables.tsx'

const WIRE_NAMES: Record<string, string> = {
  'chat-completions': 'OpenAI chat completions',
  'anthropic-messages': 'Anthropic messages',
  'google-generate-content': 'Google Gemini',
  responses: 'OpenAI responses',
  'bedrock-converse': 'Bedrock Converse',
}

/** One provider: its state and switch, how it did by the hour, its key, and its offers by their health. */
export function ProviderPage() {
  const { id } = useParams({ from: '/operator/admin/providers/$id' })
  const providers = useQuery(providersQuery).data
  const provider = providers?.data.find((row) => row.id === id)
  const catalog = useQuery(catalogQuery)
  const edits = catalog.data?.edits ?? null
  const isDisabled = providerChange(edits?.content ?? {}, id)?.disabled === true
  const offers = useQuery(offersQuery({ provider: id }))
  return (
    <>
      <PageHead
        back={<Link to="/admin/providers">← Providers</Link>}
        title={providers ? (provider?.name ?? id) : 'Provider'}
        description={
          provider && (
            <span className="row gap-x-3">
              {provider.breaker.breaker === 'closed' ? (
                <StateBadge state="ready" name="Receives calls" />
              ) : (
                <OwnBreaker provider={provider} />
              )}
              <span>
                <code>{id}</code> · API: {WIRE_NAMES[provider.wire] ?? provider.wire} ·{' '}
                {provider.zdr ? 'no retention' : 'may retain prompts'} ·{' '}
                {provider.data_collection === 'deny' ? 'no training' : 'may train on prompts'}
              </span>
            </span>
          )
        }
        actions={
          <>
            {provider && provider.breaker.breaker !== 'closed' && (
              <EnableButton subject={id} about={provider.name} />
            )}
            {catalog.data && (
              <ProviderSwitch id={id} name={provider?.name ?? id} edits={edits} isDisabled={isDisabled} />
            )}
          </>
        }
      />
      {isDisabled && <Note tone="warn">Disabled by the current overrides: it receives no calls.</Note>}
      {provider && <ProviderStats provider={provider} />}
      {provider && <LatestCheck provider={provider} />}
      <ProviderHistory providerId={id} />
      {provider && <PlatformKeyPanel provider={provider} />}
      {provider && <KeyPoolPanel provider={provider} />}
      <QueryView query={offers}>{({ data }) => <ProviderOffers offers={data} edits={edits} />}</QueryView>
    </>
  )
}

/** The success and speed of the last day, and how many of its offers are in use. */
function ProviderStats({ provider }: { provider: ProviderView }) {
  const hours = useQuery(providerHoursQuery(provider.id, '24')).data?.data ?? []
  const latest = hours.findLast(({ first_token_p50_ms: ms }) => ms !== null)
  const { last_ten_minutes: recent, uptime } = provider
  return (
    <Stats
      rows={{
        'Uptime, 24 hours': uptime.uptime === null ? '–' : formatShare(uptime.uptime),
        'Time to first token': formatDuration(latest?.first_token_p50_ms ?? null),
        'Offers in use': `${formatCount(provider.shared_offers)} of ${formatCount(provider.offers)}`,
      }}
      notes={{
        'Uptime, 24 hours':
          recent.success_share !== null && `last 10 min: ${formatShare(recent.success_share)}`,
        'Time to first token':
          latest && `median of an hour; p95 ${formatDuration(latest.first_token_p95_ms)}`,
        'Offers in use': <OffersHealth health={provider.health} />,
      }}
    />
  )
}

/** When `catalog check` called it last, and the features by how they were found. */
function LatestCheck({ provider: { id, check } }: { provider: ProviderView }) {
  if (check === null)
    return (
      <p className="text-sm text-muted">
        Its features were not checked yet: <code>npm run catalog -- check {id}</code>
      </p>
    )
  const found = { ok: check.ok, differs: check.differs, fails: check.fails, 'left out': check.left_out }
  const words = Object.entries(found).filter(([, features]) => features.length > 0)
  return (
    <p className="text-sm text-muted">
      Checked {formatMoment(check.at)} with {check.model}:{' '}
      {words.map(([result, features]) => `${result}: ${features.join(', ')}`).join('; ')}
    </p>
  )
}

/** Takes all offers of a provider out of use, or back into it, as an edit of the catalog. */
function ProviderSwitch(props: {
  id: string
  name: string
  edits: CatalogEditsView | null
  isDisabled: boolean
}) {
  const { id, name, edits, isDisabled } = props
  const [proposed, setProposed] = useState<ProposedEdits | null>(null)
  const propose = () =>
    setProposed({
      content: withProviderChange(edits?.content ?? {}, id, { disabled: isDisabled ? undefined : true }),
      title: isDisabled ? 'Enable this provider?' : 'Disable this provider?',
      done: isDisabled ? 'Provider enabled.' : 'Provider disabled.',
      confirm: isDisabled ? 'Enable provider' : 'Disable provider',
      what: (
        <p>
          {isDisabled
            ? `${name} receives calls again within a second.`
            : `${name} receives no new calls within a second, including with customers’ own keys. Running calls complete.`}
        </p>
      ),
    })
  return (
    <>
      <OperatorButton needs="catalog.write" onClick={propose}>
        {isDisabled ? 'Enable provider' : 'Disable provider'}
      </OperatorButton>
      {proposed && <ApplyEditsDialog proposed={proposed} from={edits} onClose={() => setProposed(null)} />}
    </>
  )
}
