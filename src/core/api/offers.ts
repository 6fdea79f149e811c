import { type Static, Type } from 'typebox'
import { CLOSED, nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

const Withheld = Type.Enum(['no_key', 'loss', 'disabled', 'unlisted'])

const BreakerReason = Type.Enum(['failing', 'refused', 'underestimated'])

const BreakerLevel = Type.Enum(['offer', 'provider'])

export const CallCounts = Type.Object({
  success: Type.Number(),
  failure: Type.Number(),
  rate_limited: Type.Number(),
  /** Of successes and failures, 0 to 1; null where there were none. */
  success_share: nullable(Type.Number()),
})
export type CallCounts = Static<typeof CallCounts>

export const OfferHealthView = Type.Object({
  state: Type.Enum(['ready', 'probe', 'rate-limited', 'down']),
  breaker: Type.Enum(['closed', 'open', 'half-open']),
  /** Whose breaker it is. A provider that refuses our key takes all its offers down. */
  level: nullable(BreakerLevel),
  reason: nullable(BreakerReason),
  /** When an open breaker lets a probe through. */
  until: nullable(Type.String()),
  rate_limited_until: nullable(Type.String()),
})
export type OfferHealthView = Static<typeof OfferHealthView>

export const PriceView = Type.Object({
  prompt: Type.String(),
  completion: Type.String(),
  /** Per million of what the model counts besides tokens; absent: nothing. */
  units: Type.Optional(Type.String()),
})
export type PriceView = Static<typeof PriceView>

/** GET /admin/api/offers?model&provider: `List<OfferView>`, by model, then provider. */
export const OfferView = Type.Object({
  /** `<provider>/<upstream model>`; goes into paths percent-encoded. */
  id: Type.String(),
  model: Type.String(),
  provider: Type.String(),
  upstream_model: Type.String(),
  /** What the model's `units` are; null: it has none. */
  unit: nullable(Type.String()),
  /** Calls of every client may use it. False: only clients with a key of their own there. */
  shared: Type.Boolean(),
  /** Why it is not shared: `disabled` by an operator, or `unlisted` by its provider, not even with a key of one's own. */
  withheld: nullable(Withheld),
  /** Lower is asked first. */
  priority: Type.Number(),
  health: OfferHealthView,
  last_minute: CallCounts,
  last_ten_minutes: CallCounts,
  /** Recent calls weigh more: the weight halves every five minutes. Null while nothing is known. */
  first_token_ms: nullable(Type.Object({ p50: Type.Number(), p90: Type.Number(), p99: Type.Number() })),
  tokens_per_second: nullable(Type.Object({ p50: Type.Number(), p90: Type.Number(), p99: Type.Number() })),
  /** USD per million tokens: what we pay, what clients pay, and what is left; negative where we lose. */
  cost: PriceView,
  rate: PriceView,
  margin: PriceView,
})
export type OfferView = Static<typeof OfferView>

/** Our key at a provider; the secret is never shown. */
export const PlatformKeyView = Type.Object({
  /** Where the key that calls use is from; `none`: only customers' own keys can be used there. */
  source: Type.Enum(['stored', 'environment', 'none', 'not_needed']),
  /** The environment variable that is used where nothing is stored; null: it needs no key. */
  variable: nullable(Type.String()),
  /** What an operator stored. It is not used if the catalog has moved the provider to another address since. */
  stored: nullable(Type.Object({ last4: Type.String(), author: Type.String(), created_at: IsoTime })),
})
export type PlatformKeyView = Static<typeof PlatformKeyView>

/** POST /admin/api/providers/:id/key. Response: `PlatformKeyStored`; 400 where the provider rejects the key. */
export const PlatformKeyRequest = Type.Object(
  {
    key: Type.String({
      // It travels in a header: no spaces, no control characters.
      pattern: '^[\\x21-\\x7e]{1,4096}$',
      errorMessage: '`key` takes 1 to 4096 printable ASCII characters without spaces.',
    }),
  },
  CLOSED,
)
export type PlatformKeyRequest = Static<typeof PlatformKeyRequest>

/** POST /admin/api/providers/:id/key/remove. */
export const PlatformKeyRemoved = Type.Object({
  object: Type.Literal('platform_key'),
  provider: Type.String(),
  /** False when other processes have yet to hear of it; they will. */
  announced: Type.Boolean(),
})

export const PlatformKeyStored = Type.Object({
  ...PlatformKeyRemoved.properties,
  /** What the provider said of the key; `unknown`: it could not be asked. */
  check: Type.Enum(['accepted', 'payment_required', 'forbidden', 'unknown']),
})
export type PlatformKeyStored = Static<typeof PlatformKeyStored>

/** GET /admin/api/providers: `List<ProviderView>`. */
export const ProviderView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  wire: Type.String(),
  zdr: Type.Boolean(),
  data_collection: Type.Enum(['allow', 'deny']),
  key: PlatformKeyView,
  offers: Type.Number(),
  shared_offers: Type.Number(),
  /** How many offers are in each state. */
  health: Type.Record(Type.Enum(['ready', 'probe', 'rate-limited', 'down']), Type.Number()),
  /** Its own breaker, which our key opens. */
  breaker: Type.Pick(OfferHealthView, ['breaker', 'reason', 'until']),
  last_minute: CallCounts,
  last_ten_minutes: CallCounts,
})
export type ProviderView = Static<typeof ProviderView>

/** What of an offer moves from one moment to the next. */
export const MovingOffer = Type.Pick(OfferView, [
  'id',
  'health',
  'last_minute',
  'last_ten_minutes',
  'first_token_ms',
  'tokens_per_second',
])
export type MovingOffer = Static<typeof MovingOffer>

/** The same of a provider. */
export const MovingProvider = Type.Pick(ProviderView, [
  'id',
  'health',
  'breaker',
  'last_minute',
  'last_ten_minutes',
])
export type MovingProvider = Static<typeof MovingProvider>

/** POST /admin/api/offers/:id/enable and /admin/api/providers/:id/enable. */
export const EnabledView = Type.Object({
  object: Type.Literal('enabled'),
  id: Type.String(),
  /** The offers and providers whose breaker was closed by it; none where all were. */
  closed: Type.Array(Type.String()),
})
export type EnabledView = Static<typeof EnabledView>
