import { idOf, MAIN_KEY, type PlatformKeys } from '../../catalog/platform-keys.ts'
import { lastCharacters } from '../../core/accounts/api-key.ts'
import type {
  CallCounts,
  OfferHealthView,
  OfferView,
  PlatformKeyView,
  PoolKeyView,
  PriceView,
  ProviderView,
} from '../../core/api/offers.ts'
import type { BreakerView } from '../../core/api/operations.ts'
import type { Model, Offer, Provider, TokenRates } from '../../core/catalog/catalog.ts'
import { mapRates, rateOf } from '../../core/catalog/token-rates.ts'
import { breakerState } from '../../core/failover/circuit-breaker.ts'
import { formatRate, picoUsdPerToken } from '../../core/kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../../core/kernel/time.ts'
import { type CacheUse, likelyPromptPrice } from '../../core/routing/likely-cost.ts'
import { type Endings, sumEndings } from '../../core/routing/measures.ts'
import { addedTokens } from '../../core/text-tokens/added-tokens.ts'
import type { OfferHealth } from '../../offer-health/circuit-breaker/offer-health.ts'
import type { OfferMeasures } from '../../offer-health/offer-measures.ts'

/** The data about offers that the API tier follows. */
export interface OfferKnowledge {
  health: OfferHealth
  measures: OfferMeasures
  platformKeys: PlatformKeys
}

/** The offers of a model for operators; withdrawn ones come last. */
export const offerViews = (model: Model, known: OfferKnowledge): OfferView[] => [
  ...model.offers.map((offer) => offerView(model, offer, offer.withheld ?? null, known)),
  ...(model.withdrawn ?? []).map(({ offer, reason }) => offerView(model, offer, reason, known)),
]

function offerView(
  model: Model,
  offer: Offer,
  withheld: OfferView['withheld'],
  { health, measures }: OfferKnowledge,
): OfferView {
  const stats = measures.stats(offer.id)
  return {
    id: offer.id,
    model: model.id,
    provider: offer.provider.id,
    upstream_model: offer.upstreamModel,
    unit: model.unit ?? null,
    shared: offer.shared && withheld === null,
    withheld,
    priority: offer.priority,
    health: healthView(offer.id, health),
    added_tokens: {
      stated: addedTokens(model),
      learned: health
        .allLearned(offer.id)
        .map(({ kinds, tokens, untilMs }) => ({ content: kinds, tokens, until: isoTime(untilMs) })),
    },
    last_minute: callCounts(stats.lastMinute),
    last_ten_minutes: callCounts(stats.lastTenMinutes),
    first_token_ms: stats.firstTokenMs,
    tokens_per_second: stats.tokensPerSecond,
    ...cacheFigures(measures.cacheUse(offer.id), offer.cost),
    cost: priceView(offer.cost, model),
    rate: priceView(model.rate, model),
    margin: priceView(
      mapRates(model.rate, (rate, kind) => rate - rateOf(offer.cost, kind)),
      model,
    ),
  }
}

/** The hit rate of an offer's prompt cache, and what a prompt costs with it at some rates. */
export function cacheFigures(use: CacheUse | undefined, cost: TokenRates) {
  if (!use) return { cache_hit_rate: null, effective_prompt: null }
  const shares = { read: use.readTokens / use.promptTokens, written: use.writtenTokens / use.promptTokens }
  const price = Math.round(likelyPromptPrice({ cost }, shares))
  return { cache_hit_rate: shares.read, effective_prompt: formatRate(picoUsdPerToken(BigInt(price))) }
}

/** A provider with the summary of its offers. */
export function providerView(
  provider: Provider,
  offers: readonly Offer[],
  known: OfferKnowledge,
): Omit<ProviderView, 'check' | 'uptime'> {
  const states = { ready: 0, probe: 0, 'rate-limited': 0, down: 0 }
  for (const offer of offers) states[healthView(offer.id, known.health).state]++
  const stats = offers.map((offer) => known.measures.stats(offer.id))
  const { breaker, reason, until } = healthView(provider.id, known.health)
  return {
    id: provider.id,
    name: provider.name,
    wire: provider.wire,
    zdr: provider.zdr,
    data_collection: provider.dataCollection,
    credentials: provider.credentials?.kind ?? null,
    key: platformKeyView(provider, known),
    offers: offers.length,
    shared_offers: offers.filter((offer) => offer.shared).length,
    health: states,
    breaker: { breaker, reason, until },
    last_minute: callCounts(sumEndings(stats.map(({ lastMinute }) => lastMinute))),
    last_ten_minutes: callCounts(sumEndings(stats.map(({ lastTenMinutes }) => lastTenMinutes))),
  }
}

function platformKeyView(
  provider: Provider,
  { platformKeys: keys, health }: OfferKnowledge,
): PlatformKeyView {
  const rows = keys.stored(provider.id)
  const stored = rows.find((row) => idOf(row) === MAIN_KEY && row.secretSealed !== '')
  const known = keys.all(provider)
  const ids = new Set([
    ...known.map(({ id }) => id),
    ...rows.filter(({ secretSealed }) => secretSealed !== '').map(idOf),
  ])
  const poolKeyView = (id: string): PoolKeyView => {
    const row = rows.find((each) => idOf(each) === id)
    const key = known.find((each) => each.id === id)
    const worst = health.keys.worst(provider.id, id)
    return {
      id,
      name: row?.name ?? '',
      source: key?.source ?? 'stored',
      state: row?.state ?? 'active',
      usable: key !== undefined,
      weight: row?.weight ?? 1,
      requests_per_minute: row?.requestsPerMinute ?? null,
      tokens_per_minute: row?.tokensPerMinute ?? null,
      usd_per_day: row?.usdPerDay ?? null,
      usd_per_month: row?.usdPerMonth ?? null,
      health: worst && {
        reason: worst.reason,
        until: isoTime(worst.untilMs - health.fleetNow() + health.now()),
      },
      last4: key ? lastCharacters(key.secret) : (row?.last4 ?? ''),
      author: key?.source === 'environment' ? null : (row?.author ?? null),
      created_at: key?.source === 'environment' ? null : (row?.createdAt ?? null),
    }
  }
  return {
    source: provider.apiKeyEnv === null ? 'not_needed' : (keys.find(provider)?.source ?? 'none'),
    variable: provider.apiKeyEnv,
    stored: stored ? { last4: stored.last4, author: stored.author, created_at: stored.createdAt } : null,
    pool: [...ids].map(poolKeyView),
  }
}

function healthView(id: string, health: OfferHealth): OfferHealthView {
  const { kind } = health.health(id)
  const { breaker, level, reason, untilMs, rateLimitedUntilMs } = health.state(id)
  return {
    state: kind === 'gone' ? 'down' : kind,
    breaker,
    level,
    reason,
    until: isoTimeOrNull(untilMs),
    rate_limited_until: isoTimeOrNull(rateLimitedUntilMs),
  }
}

function callCounts({ success, failure, 'rate-limited': rateLimited }: Endings): CallCounts {
  const answered = success + failure
  return {
    success,
    failure,
    rate_limited: rateLimited,
    success_share: answered === 0 ? null : success / answered,
  }
}

const priceView = (rates: TokenRates, { unit }: Model): PriceView => ({
  prompt: formatRate(rates.prompt),
  completion: formatRate(rates.completion),
  ...(unit && { units: formatRate(rateOf(rates, 'units')) }),
})

/** What is read of the health of offers to list its breakers. */
export type FollowedBreakers = Pick<OfferHealth, 'subjects' | 'breaker' | 'rateLimitedUntil' | 'fleetNow'>

/** The breakers that are not closed; times by the fleet's clock. */
export function breakerViews(health: FollowedBreakers): BreakerView[] {
  const now = health.fleetNow()
  return health.subjects().flatMap((subject): BreakerView[] => {
    const entry = health.breaker(subject)
    const limitedUntil = health.rateLimitedUntil(subject)
    const state = breakerState(entry, now)
    const views: BreakerView[] = []
    if (entry && state !== 'closed')
      views.push({ subject, state, reason: entry.reason, until: isoTime(entry.untilMs) })
    if (limitedUntil !== null)
      views.push({ subject, state: 'rate-limited', reason: 'rate-limited', until: isoTime(limitedUntil) })
    return views
  })
}
