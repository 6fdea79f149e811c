import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ModelProvider } from '../../../src/core/api/models.ts'
import { modelProvidersQuery, sessionQuery } from '../../api/queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { CellBar } from '../../components/text/budget-bar.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatDate, formatDuration, formatShare, formatTokens } from '../../lib/format.ts'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import { unitPriceText } from '../../lib/models/unit-prices.ts'
import { Throughput } from './model-figures.tsx'

/** Who serves a model, for accounts that are signed in: they can pin a provider. */
export function ModelProviders({ model }: { model: CatalogModel }) {
  const { data: session } = useQuery(sessionQuery)
  return (
    <Panel title="Providers">
      {session ? (
        <Providers model={model} />
      ) : (
        <div className="panel-body">
          <p className="text-muted">
            <Link to="/sign-in" search={{ next: `/models/${model.id}` }}>
              Sign in
            </Link>{' '}
            to see the providers of this model with their latency, throughput and uptime.
          </p>
        </div>
      )}
    </Panel>
  )
}

const Providers = ({ model }: { model: CatalogModel }) => (
  <QueryView query={useQuery(modelProvidersQuery(model.id))}>
    {({ data, measured }) => (
      <>
        <DataTable
          caption="Providers"
          rows={data}
          rowKey={({ id }) => id}
          empty="No provider is known for this model."
          columns={{
            Provider: (provider) => <Name provider={provider} />,
            Price: (provider) => (provider.own_key_only ? 'Provider price + fee' : priceText(model)),
            'Effective input': ({ effective_prompt: price }) => (price === null ? '–' : `$${price}`),
            'Cache hits': ({ cache_hit_rate: rate }) => (rate === null ? '–' : formatShare(rate)),
            Context: (provider) => formatTokens(provider.context_length),
            Latency: (provider) => formatDuration(provider.first_token_ms),
            Throughput: (provider) => <Throughput perSecond={provider.tokens_per_second} />,
            Uptime: ({ uptime }) =>
              uptime === null ? (
                '–'
              ) : (
                <TwoLines second={<CellBar share={uptime} />}>{formatShare(uptime)}</TwoLines>
              ),
          }}
          numeric={['Price', 'Effective input', 'Cache hits', 'Context', 'Latency', 'Throughput', 'Uptime']}
        />
        <div className="panel-body">
          <p className="text-sm text-muted">
            The price is the same at every provider. Latency (time to first token) and throughput are medians,
            and uptime is the share of successful attempts, of requests that named this model
            {measured && ` from ${formatDate(measured.from)} to ${formatDate(measured.to)}`}; a dash means
            fewer than ten. The effective input price counts what recent prompts read from the prompt cache.
            Pin a provider with <code>provider.only</code>.
          </p>
        </div>
      </>
    )}
  </QueryView>
)

/** Input and output, or what is not counted in tokens. */
const priceText = ({ prompt, completion, unit, units }: CatalogModel): string =>
  unit === undefined || units === undefined ? `$${prompt} / $${completion}` : unitPriceText(unit, units)

const Name = ({ provider }: { provider: ModelProvider }) => (
  <TwoLines second={<code>{provider.id}</code>}>
    <span className="row gap-2">
      {provider.name}
      {provider.zdr && (
        <Badge tone="good">
          <abbr title="zero data retention">ZDR</abbr>
        </Badge>
      )}
      {provider.own_key_only && <Badge>your key only</Badge>}
    </span>
  </TwoLines>
)
