import { type Static, Type } from 'typebox'
import { UptimePeriod } from './provider-status.ts'
import { CLOSED, count, line, nullable } from './request-fields.ts'
import { CacheFigures, IsoTime } from './shared.ts'

const Withheld = Type.Enum(['no_key', 'loss', 'disabled', 'unlisted'])

const BreakerReason = Type.Enum(['failing', 'refused', 'underestimated'])

const CloudKind = Type.Enum(['aws', 'google', 'azure'])

const BreakerLevel = Type.Enum(['offer', 'provider'])

export const CallCounts = Type.Object({
  success: Type.Number(),
  failure: Type.Number(),
  rate_limited: Type.Number(),
  /** Successes among all results, 0 to 1; null without any. */
  success_share: nullable(Type.Number()),
})
export type CallCounts = Static<typeof CallCounts>

export const OfferHealthView = Type.Object({
  state: Type.Enum(['ready', 'probe', 'rate-limited', 'down']),
  breaker: Type.Enum(['closed', 'open', 'half-open']),
  /** Whether the breaker is the offer's or its provider's. A provider that refuses our key disables all its offers. */
  level: nullable(BreakerLevel),
  reason: nullable(BreakerReason),
  /** When an open breaker allows a probe. */
  until: nullable(Type.String()),
  rate_limited_until: nullable(Type.String()),
})
export type OfferHealthView = Static<typeof OfferHealthView>

export const PriceView = Type.Object({
  prompt: Type.String(),
  completion: Type.String(),
  /** Per million units besides tokens; absent: none. */
  units: Type.Optional(Type.String()),
})
export type PriceView = Static<typeof PriceView>

/** GET /admin/api/offers?model&provider: `List<OfferView>`, by model, then provider. */
export const OfferView = Type.Object({
  /** `<provider>/<upstream model>`; percent-encoded in paths. */
  id: Type.String(),
  model: Type.String(),
  provider: Type.String(),
  upstream_model: Type.String(),
  /** The model's unit; null: none. */
  unit: nullable(Type.String()),
  /** Calls of all clients may use it. False: only clients with their own key there. */
  shared: Type.Boolean(),
  /** Why it is not shared: `disabled` by an operator, or `unlisted` by its provider, which also excludes BYOK keys. */
  withheld: nullable(Withheld),
  /** Lower values are tried first. */
  priority: Type.Number(),
  health: OfferHealthView,
  /** Tokens that its provider puts before each prompt, which calls hold. */
  added_tokens: Type.Object({
    /** Known of its model. */
    stated: Type.Number(),
    /** Seen in calls, by kinds of content such as `text` or `image+text`; forgotten at `until`. */
    learned: Type.Array(Type.Object({ content: Type.String(), tokens: Type.Number(), until: IsoTime })),
  }),
  last_minute: CallCounts,
  last_ten_minutes: CallCounts,
  /** Recent calls weigh more: the weight halves every five minutes. Null while unknown. */
  first_token_ms: nullable(Type.Object({ p50: Type.Number(), p90: Type.Number(), p99: Type.Number() })),
  tokens_per_second: nullable(Type.Object({ p50: Type.Number(), p90: Type.Number(), p99: Type.Number() })),
  /** Its price is our cost. */
  ...CacheFigures,
  /** USD per million tokens: our cost, the client's rate, and the margin, negative at a loss. */
  cost: PriceView,
  rate: PriceView,
  margin: PriceView,
})
export type OfferView = Static<typeof OfferView>

/** One of our keys at a provider; the secret is never returned. */
export const PoolKeyView = Type.Object({
  /** `main`: that of the environment, or the one that is stored in its place. */
  id: Type.String(),
  name: Type.String(),
  source: Type.Enum(['stored', 'environment']),
  /** `draining` and `disabled` keys get no new calls. */
  state: Type.Enum(['active', 'draining', 'disabled']),
  /** False: the catalog has since changed the provider's base URL, or the key cannot be decrypted. */
  usable: Type.Boolean(),
  /** Its share of the conversations, against the other keys. */
  weight: Type.Integer(),
  requests_per_minute: nullable(Type.Integer()),
  tokens_per_minute: nullable(Type.Integer()),
  usd_per_day: nullable(Type.Integer()),
  usd_per_month: nullable(Type.Integer()),
  /** What its provider said last, until a time; null: nothing against it. */
  health: nullable(
    Type.Object({ reason: Type.Enum(['refused', 'rate-limited', 'near-limit']), until: IsoTime }),
  ),
  last4: Type.String(),
  /** Null: it is from the environment. */
  author: nullable(Type.String()),
  created_at: nullable(IsoTime),
})
export type PoolKeyView = Static<typeof PoolKeyView>

/** Our keys at a provider. */
export const PlatformKeyView = Type.Object({
  /** The source of the first key in use; `none`: only BYOK keys can be used. */
  source: Type.Enum(['stored', 'environment', 'none', 'not_needed']),
  /** The environment variable of the key, used if none is stored; null: no key is needed. */
  variable: nullable(Type.String()),
  /** The main key, if an operator stored it. It is not used if the catalog has since changed the provider's base URL. */
  stored: nullable(Type.Object({ last4: Type.String(), author: Type.String(), created_at: IsoTime })),
  /** All of them, the main one first. */
  pool: Type.Array(PoolKeyView),
})
export type PlatformKeyView = Static<typeof PlatformKeyView>

const KEY_SETTINGS = {
  name: Type.Optional(line('name', 0, 80)),
  weight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  requests_per_minute: count(),
  tokens_per_minute: count(1_000_000_000),
  /** In whole USD of the provider's price. */
  usd_per_day: count(1_000_000),
  usd_per_month: count(1_000_000),
}

/** POST /admin/api/providers/:id/key. Response: `PlatformKeyStored`; 400 if the provider rejects the key. */
export const PlatformKeyRequest = Type.Object(
  {
    key: Type.String({
      // It is sent in a header, so it must not contain spaces or control characters.
      pattern: '^[\\x21-\\x7e]{1,4096}$',
      errorMessage: '`key` must be 1 to 4096 printable ASCII characters without spaces.',
    }),
    ...KEY_SETTINGS,
  },
  CLOSED,
)

/**
 * POST /admin/api/providers/:id/keys: adds a key. With `in_place_of` it has the settings of that key, which gets no new calls from
 * then on.
 */
export const PoolKeyRequest = Type.Object(
  { ...PlatformKeyRequest.properties, in_place_of: Type.Optional(Type.String()) },
  CLOSED,
)

/** PATCH /admin/api/providers/:id/keys/:key. */
export const PoolKeyChange = Type.Object(
  { ...KEY_SETTINGS, state: Type.Optional(PoolKeyView.properties.state) },
  CLOSED,
)

/** POST /admin/api/providers/:id/key/remove, and of a change. */
export const PlatformKeyRemoved = Type.Object({
  object: Type.Literal('platform_key'),
  provider: Type.String(),
  id: Type.String(),
  /** False if other processes were not notified yet; they will apply it. */
  announced: Type.Boolean(),
})

export const PlatformKeyStored = Type.Object({
  ...PlatformKeyRemoved.properties,
  /** The provider's verdict on the key; `unknown`: the provider could not be reached. */
  check: Type.Enum(['accepted', 'payment_required', 'forbidden', 'unknown']),
})
export type PlatformKeyStored = Static<typeof PlatformKeyStored>

/** The audited action that holds the result of a check. */
export const PROVIDER_CHECK = 'provider.check'

/** The latest `catalog check` of a provider: the names of features by how they were found. */
export const ProviderCheckView = Type.Object({
  at: IsoTime,
  model: Type.String(),
  ok: Type.Array(Type.String()),
  differs: Type.Array(Type.String()),
  fails: Type.Array(Type.String()),
  /** The model has them not, or they would have cost too much. */
  left_out: Type.Array(Type.String()),
})
export type ProviderCheckView = Static<typeof ProviderCheckView>

/** GET /admin/api/providers: `List<ProviderView>`. */
export const ProviderView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  wire: Type.String(),
  zdr: Type.Boolean(),
  data_collection: Type.Enum(['allow', 'deny']),
  /** The cloud whose signature or token its key becomes; null: the key is sent. */
  credentials: nullable(CloudKind),
  key: PlatformKeyView,
  /** Null: it was never checked. */
  check: nullable(ProviderCheckView),
  offers: Type.Number(),
  shared_offers: Type.Number(),
  /** Number of offers in each state. */
  health: Type.Record(Type.Enum(['ready', 'probe', 'rate-limited', 'down']), Type.Number()),
  /** The provider's own breaker, which a refused key opens. */
  breaker: Type.Pick(OfferHealthView, ['breaker', 'reason', 'until']),
  last_minute: CallCounts,
  last_ten_minutes: CallCounts,
  /** The last 24 hours by the hour (UTC). */
  uptime: UptimePeriod,
})
export type ProviderView = Static<typeof ProviderView>

/** One hour of GET /admin/api/providers/:id/hours?hours=24|168: `List<ProviderHourView>`, oldest first, empty ones included. */
export const ProviderHourView = Type.Object({
  at: IsoTime,
  /** Attempts with our keys for calls that named their model; failures that are not the provider's are left out. */
  succeeded: Type.Number(),
  failed: Type.Number(),
  /** Time to first token; null without attempts that had one. */
  first_token_p50_ms: nullable(Type.Number()),
  first_token_p95_ms: nullable(Type.Number()),
})
export type ProviderHourView = Static<typeof ProviderHourView>

/** POST /admin/api/offers/:id/enable and /admin/api/providers/:id/enable. */
export const EnabledView = Type.Object({
  object: Type.Literal('enabled'),
  id: Type.String(),
  /** The offers and providers whose breaker was closed by this request. */
  closed: Type.Array(Type.String()),
})
export type EnabledView = Static<typeof EnabledView>
