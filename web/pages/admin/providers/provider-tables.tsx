import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { EnabledView, OfferView, PriceView, ProviderView } from '../../../../src/core/api/offers.ts'
import { providersQuery } from '../../../api/operator-queries.ts'
import { path, requestJson } from '../../../api/request.ts'
import { UptimeBars } from '../../../components/chart/uptime-bars.tsx'
import { ConfirmDialog } from '../../../components/feedback/dialogs.tsx'
import { DataTable, InCard, TwoLines } from '../../../components/table/data-table.tsx'
import type { RowSelection } from '../../../components/table/selection.tsx'
import { StateBadge } from '../../../components/text/values.tsx'
import { formatCount, formatDuration, formatMoment, formatShare } from '../../../lib/format.ts'
import { unitPriceText } from '../../../lib/models/unit-prices.ts'
import { ModelLink, ProviderLink } from '../links.tsx'
import { OperatorButton } from '../operator-button.tsx'
import { OfferHealth, OffersHealth, REASONS, RecentSuccess, SuccessShare } from './health.tsx'

/** Providers with their health and the outcomes of calls. */
export const ProviderTable = ({ providers }: { providers: readonly ProviderView[] }) => (
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
      'Active offers': ({ shared_offers: shared, offers }) => (
        <span className="whitespace-nowrap">
          {formatCount(shared)} / {formatCount(offers)}
          <InCard> active</InCard>
        </span>
      ),
      'Uptime, 24 hours': ({ id }) => <DayUptime id={id} />,
      'Success rate (10 min)': ({ last_ten_minutes: counts }) => <SuccessShare counts={counts} />,
      'Provider breaker': (provider) => <OwnBreaker provider={provider} />,
      Actions: ({ id, name, breaker }) =>
        breaker.breaker === 'closed' ? '' : <EnableButton subject={id} about={name} />,
    }}
    numeric={['Active offers', 'Success rate (10 min)']}
    brief={['Offers', 'Active offers', 'Provider breaker']}
  />
)

const HOUR_MS = 3_600_000

/** How a provider did in the last day; the last bar is of the present hour. */
function DayUptime({ id }: { id: string }) {
  const uptime = useQuery(providersQuery).data?.data.find((provider) => provider.id === id)?.uptime
  if (!uptime) return null
  const first = Math.floor(Date.now() / HOUR_MS) - uptime.bars.length + 1
  return <UptimeBars of={uptime} from={new Date(first * HOUR_MS).toISOString()} stepHours={1} />
}

const BREAKER_NAMES: Record<ProviderView['breaker']['breaker'], string> = {
  closed: 'Closed',
  open: 'Circuit open',
  'half-open': 'Half-open',
}

/** The breaker of a provider itself, and why and until when it is open. */
export function OwnBreaker({ provider: { breaker } }: { provider: ProviderView }) {
  if (breaker.breaker === 'closed') return <StateBadge state="closed" name="Closed" />
  const why = breaker.reason && REASONS[breaker.reason]
  return (
    <TwoLines
      second={[why, breaker.until && `next retry ${formatMoment(breaker.until)}`].filter(Boolean).join('; ')}
    >
      <StateBadge state={breaker.breaker} name={BREAKER_NAMES[breaker.breaker]} />
    </TwoLines>
  )
}

/** Offers with their health, success, speed and price. */
export function OfferTable(props: {
  offers: readonly OfferView[]
  /** What names the rows; the other of the two is the same in all of them. */
  titledBy: 'model' | 'provider'
  /** Further buttons for an offer. */
  actions?: (offer: OfferView) => ReactNode
  /** Chooses offers, for a change of several. */
  selection?: RowSelection<OfferView>
}) {
  const { offers, titledBy, actions, selection } = props
  const isRanked = new Set(offers.map(({ priority }) => priority)).size > 1
  return (
    <>
      <DataTable
        caption="Offers; prices in USD per million tokens"
        rows={offers}
        rowKey={({ id, model }) => `${id} ${model}`}
        selection={selection}
        columns={{
          [titledBy === 'model' ? 'Model' : 'Provider']: (offer: OfferView) => (
            <span className="stack-tight">
              {titledBy === 'model' ? <ModelLink id={offer.model} /> : <ProviderLink id={offer.provider} />}
              <code className="text-sm text-muted">{offer.upstream_model}</code>
              {isRanked && <span className="text-sm text-muted">priority {offer.priority}</span>}
            </span>
          ),
          Health: (offer) => <OfferHealth offer={offer} />,
          'Success 1 / 10 min': (offer) => (
            <RecentSuccess minute={offer.last_minute} tenMinutes={offer.last_ten_minutes} />
          ),
          "Provider's uptime, 24 hours":
            titledBy === 'provider' && (({ provider }) => <DayUptime id={provider} />),
          'TTFT p50': ({ first_token_ms: ms }) => <Spread of={ms} format={formatDuration} />,
          'Tokens/s p50': ({ tokens_per_second: rate }) => (
            <Spread of={rate} format={(value) => String(Math.round(value))} />
          ),
          'Cache hits': ({ cache_hit_rate: rate, effective_prompt: price }) =>
            rate === null ? (
              '–'
            ) : (
              <TwoLines nowrap second={`input ${price}`}>
                {formatShare(rate)}
              </TwoLines>
            ),
          'Cost / margin': ({ cost, margin, unit }) => (
            <TwoLines nowrap second={`margin ${priceText(margin, unit)}`}>
              {priceText(cost, unit)}
            </TwoLines>
          ),
          Actions: (offer) => (
            <span className="table-actions flex justify-end gap-1">
              {offer.health.breaker !== 'closed' && offer.health.level === 'offer' && (
                <EnableButton subject={offer.id} />
              )}
              {actions?.(offer)}
            </span>
          ),
        }}
        numeric={['Success 1 / 10 min', 'TTFT p50', 'Tokens/s p50', 'Cache hits', 'Cost / margin']}
        // The page of the model has all of them.
        {...(titledBy === 'model' && { brief: ['Health', 'Success 1 / 10 min', 'TTFT p50'] })}
      />
      <p className="px-inset pt-2 pb-4 text-sm text-muted">
        Prices in USD per million input / output tokens; beside the hits of its prompt cache, that of input
        with them.
      </p>
    </>
  )
}

/** A median with the percentiles above it. */
function Spread(props: { of: OfferView['first_token_ms']; format: (value: number) => string }) {
  const { of, format } = props
  if (!of) return '–'
  return (
    <TwoLines nowrap second={`p90 ${format(of.p90)}, p99 ${format(of.p99)}`}>
      {format(of.p50)}
    </TwoLines>
  )
}

/** In tokens; of what is counted in other units, for a natural amount of them, such as a minute. */
const priceText = ({ prompt, completion, units }: PriceView, unit: string | null) =>
  unit === null || units === undefined ? `${prompt} / ${completion}` : unitPriceText(unit, units)

/** Closes a breaker by hand, after asking. `subject` is the id of an offer, which holds a slash, or of a provider. */
export function EnableButton({ subject, about = subject }: { subject: string; about?: string }) {
  const kind = subject.includes('/') ? 'offers' : 'providers'
  return (
    <OperatorButton
      needs="operations.write"
      size="small"
      about={about}
      dialog={(close) => (
        <ConfirmDialog
          title="Resume calls?"
          confirm="Resume calls"
          kind="primary"
          send={() => requestJson<EnabledView>('POST', path`/admin/api/${kind}/${subject}/enable`)}
          stale={['/admin/api']}
          done={({ id, closed }) =>
            closed.length > 0 ? `${id} receives calls again.` : `The circuit of ${id} was already closed.`
          }
          onClose={close}
        >
          <p>
            Every worker sends calls to <code>{subject}</code> again immediately. Calls that fail there fail
            over, and its circuit opens again. The action is recorded in the audit log.
          </p>
        </ConfirmDialog>
      )}
    >
      Retry now
    </OperatorButton>
  )
}
