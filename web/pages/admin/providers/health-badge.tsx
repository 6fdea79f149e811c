import type { OfferView, ProviderView } from '../../../../src/core/api/offers.ts'
import type { BreakerView } from '../../../../src/core/api/operations.ts'
import { Badge, type Tone } from '../../../components/text/values.tsx'
import { formatCount, formatMoment } from '../../../lib/format.ts'

const BREAKERS: Record<BreakerView['state'] | 'closed', { name: string; tone: Tone }> = {
  closed: { name: 'closed', tone: 'good' },
  open: { name: 'open', tone: 'bad' },
  'half-open': { name: 'half-open', tone: 'warn' },
  'rate-limited': { name: 'rate-limited', tone: 'warn' },
}

export function BreakerBadge({ state }: { state: keyof typeof BREAKERS }) {
  const { name, tone } = BREAKERS[state]
  return <Badge tone={tone}>{name}</Badge>
}

const WITHHELD: Record<NonNullable<OfferView['withheld']>, string> = {
  no_key: 'no key of ours',
  loss: 'it costs us more than it brings in',
  disabled: 'disabled',
  unlisted: 'no longer listed by its provider',
}

const STATES: Record<OfferView['health']['state'], { name: string; tone: Tone }> = {
  ready: { name: 'ready', tone: 'good' },
  probe: { name: 'on probation', tone: 'warn' },
  'rate-limited': { name: 'rate-limited', tone: 'warn' },
  down: { name: 'held back', tone: 'bad' },
}

/** Whether calls may go to an offer, and if not, why and until when. */
export function OfferHealth({ offer }: { offer: OfferView }) {
  const { health, withheld } = offer
  if (withheld !== null) return <Badge>{WITHHELD[withheld]}</Badge>
  const { name, tone } = STATES[health.state]
  const until = health.state === 'probe' ? null : (health.until ?? health.rate_limited_until)
  return (
    <span className="stack-small">
      <span className="row">
        <Badge tone={tone}>{name}</Badge>
        {health.breaker !== 'closed' && (
          <span className="small">
            breaker {health.breaker}
            {health.level === 'provider' && ' at the provider'}
            {health.reason && `, ${health.reason}`}
          </span>
        )}
      </span>
      {until !== null && <span className="small muted">retried {formatMoment(until)}</span>}
    </span>
  )
}

const OF_PROVIDER = [
  ['down', 'held back', 'bad'],
  ['rate-limited', 'rate-limited', 'warn'],
  ['probe', 'on probation', 'warn'],
] as const

/** The states of a provider's offers: those that are not ready, or that all are. */
export function OffersHealth({ health }: { health: ProviderView['health'] }) {
  const amiss = OF_PROVIDER.filter(([state]) => health[state] > 0)
  if (amiss.length === 0) return <Badge tone="good">all ready</Badge>
  return (
    <span className="row">
      {amiss.map(([state, name, tone]) => (
        <Badge key={state} tone={tone}>
          {formatCount(health[state])} {name}
        </Badge>
      ))}
    </span>
  )
}
