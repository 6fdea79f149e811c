import type { CallCounts, OfferView, ProviderView } from '../../../../src/core/api/offers.ts'
import { TwoLines } from '../../../components/table/data-table.tsx'
import { Badge, StateBadge } from '../../../components/text/values.tsx'
import { formatCount, formatMoment, formatShare, plural } from '../../../lib/format.ts'

const WITHHELD: Record<NonNullable<OfferView['withheld']>, string> = {
  no_key: 'Not configured',
  loss: 'Unprofitable',
  disabled: 'Disabled',
  unlisted: 'Not listed by provider',
}

const STATES = {
  ready: 'Ready',
  probe: 'Half-open',
  'rate-limited': 'Rate limited',
  down: 'Circuit open',
} satisfies Record<OfferView['health']['state'], string>

export const REASONS: Record<NonNullable<OfferView['health']['reason']>, string> = {
  failing: 'too many failures',
  refused: 'rejects our key',
  underestimated: 'counts more tokens than we hold',
}

/** Whether calls may go to an offer, and if not, why and until when. */
export function OfferHealth({ offer }: { offer: OfferView }) {
  const { health, withheld } = offer
  if (withheld !== null) return <Badge>{WITHHELD[withheld]}</Badge>
  const until = health.state === 'probe' ? null : (health.until ?? health.rate_limited_until)
  const why = [health.reason && REASONS[health.reason], health.level === 'provider' && 'at the provider']
  return (
    <span className="stack-tight">
      <StateBadge state={health.state} name={STATES[health.state]} />
      {health.breaker !== 'closed' && (
        <span className="text-sm text-muted">{why.filter(Boolean).join(', ')}</span>
      )}
      {until !== null && (
        <span className="text-sm whitespace-nowrap text-muted">next retry {formatMoment(until)}</span>
      )}
      {addedTexts(offer).map((text) => (
        <span key={text} className="text-sm text-muted">
          {text}
        </span>
      ))}
    </span>
  )
}

/** What its provider puts before prompts: seen in calls, by kinds of content, or else known of its model. */
function addedTexts({ added_tokens: { stated, learned } }: OfferView): string[] {
  if (learned.length === 0) return stated > 0 ? [`adds up to ${formatCount(stated)} tokens`] : []
  return learned.map(
    ({ content, tokens }) => `adds up to ${formatCount(tokens)} tokens to ${content}, seen in calls`,
  )
}

/** The states of a provider's offers: those that are not ready, or that all are. */
export function OffersHealth({ health }: { health: ProviderView['health'] }) {
  const amiss = (['down', 'rate-limited', 'probe'] as const).filter((state) => health[state] > 0)
  if (amiss.length === 0) return <Badge tone="good">All ready</Badge>
  return (
    <span className="row">
      {amiss.map((state) => (
        <StateBadge key={state} state={state} name={`${formatCount(health[state])} ${STATES[state]}`} />
      ))}
    </span>
  )
}

/** The share of attempts that succeeded, and their number. */
export function SuccessShare({ counts }: { counts: CallCounts }) {
  const { success, failure, rate_limited: limited, success_share: share } = counts
  if (share === null && limited === 0) return <span className="text-muted">no calls</span>
  return (
    <TwoLines nowrap second={plural(success + failure, 'call') + (limited > 0 ? `, ${limited} limited` : '')}>
      {share === null ? '–' : formatShare(share)}
    </TwoLines>
  )
}

/** The same for the last minute and the last ten, in one cell. */
export function RecentSuccess({ minute, tenMinutes }: { minute: CallCounts; tenMinutes: CallCounts }) {
  const spans = [minute, tenMinutes]
  const attempts = spans.map(({ success, failure, rate_limited: limited }) => success + failure + limited)
  if (attempts.every((count) => count === 0)) return <span className="text-muted">no calls</span>
  const shares = spans.map(({ success_share: share }) => (share === null ? '–' : formatShare(share)))
  return (
    <span className="stack-tight whitespace-nowrap">
      {shares.join(' / ')}
      <span className="text-sm text-muted">{attempts.map(formatCount).join(' / ')} calls</span>
      {tenMinutes.rate_limited > 0 && (
        <span className="text-sm text-muted">{formatCount(tenMinutes.rate_limited)} rate-limited</span>
      )}
    </span>
  )
}
