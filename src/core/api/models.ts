import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { CacheFigures, IsoTime } from './shared.ts'

/** Medians over recent calls that named the model; null with fewer than ten. */
const SPEED = {
  first_token_ms: nullable(Type.Number()),
  tokens_per_second: nullable(Type.Number()),
}

/** How well a model does a kind of task. */
export const ModelQualityView = Type.Object({
  /** Share of published tasks done well, 0 to 1. */
  value: Type.Number(),
  standard_error: Type.Number(),
  /** `measured`: as published. Otherwise estimated from its other kinds, or from the version before it. */
  basis: Type.Enum(['measured', 'other kinds', 'line']),
  /** Who measured it, when, and at which effort; null of estimates. */
  source: nullable(Type.String()),
})
export type ModelQualityView = Static<typeof ModelQualityView>

/** The properties of a model besides its prices. */
export const ModelFacts = Type.Object({
  id: Type.String(),
  /** The maker's display name; `vendor` of the pricing feed is its id. */
  maker: Type.String(),
  /** Null: no separate limit is known, so a completion ends with the context window. */
  max_output_tokens: nullable(Type.Integer()),
  supported_parameters: Type.Array(Type.String()),
  reasoning: Type.Boolean(),
  /** `YYYY-MM-DD`; null: unknown. */
  released_at: nullable(Type.String()),
  /** `YYYY-MM-DD`: when its maker stops serving it; null: unknown. */
  deprecated_at: nullable(Type.String()),
  /** Rank by calls that named their model; 1 is the highest; null: no calls. */
  popularity: nullable(Type.Integer()),
  /** At reasoning and at working with data; null: no figure is known. */
  quality: nullable(ModelQualityView),
  ...SPEED,
})
export type ModelFacts = Static<typeof ModelFacts>

/** The period of the measured calls; null: currently not available. */
const Measured = nullable(Type.Object({ from: IsoTime, to: IsoTime }))

/** GET /console/api/models, without a session. */
export const ModelFactsList = Type.Object({ measured: Measured, data: Type.Array(ModelFacts) })
export type ModelFactsList = Static<typeof ModelFactsList>

export const ModelProvider = Type.Object({
  /** As in `provider.only` and `provider.order`. */
  id: Type.String(),
  name: Type.String(),
  zdr: Type.Boolean(),
  data_collection: Type.Enum(['allow', 'deny']),
  context_length: Type.Integer(),
  max_output_tokens: nullable(Type.Integer()),
  /** It serves only calls with a BYOK key of the account. */
  own_key_only: Type.Boolean(),
  ...SPEED,
  /** Share of successful attempts, 0 to 1; null with fewer than ten. */
  uptime: nullable(Type.Number()),
  ...CacheFigures,
})
export type ModelProvider = Static<typeof ModelProvider>

/** GET /console/api/models/:id/providers (id percent-encoded). */
export const ModelProviderList = Type.Object({
  /** The model's id in the catalog, even if an alias was requested. */
  model: Type.String(),
  measured: Measured,
  data: Type.Array(ModelProvider),
})
export type ModelProviderList = Static<typeof ModelProviderList>

/** GET /console/api/models/:id (id percent-encoded), without a session: what is too much for a list. */
export const ModelDetails = Type.Object({
  /** The model's id in the catalog, even if an alias was requested. */
  id: Type.String(),
  /** By kind of task, of those with a figure. */
  quality: Type.Array(Type.Interface([ModelQualityView], { kind: Type.String() })),
  measured: Measured,
  /** Every UTC day of the measured period, oldest first; none while it is not available. */
  days: Type.Array(
    Type.Object({
      /** `YYYY-MM-DD`. */
      day: Type.String(),
      ...SPEED,
      /** Share of successful attempts, 0 to 1; null with fewer than ten. */
      uptime: nullable(Type.Number()),
    }),
  ),
  /** When it came to be charged what it is, newest first; USD per million tokens or units. Null: not available. */
  prices: nullable(
    Type.Array(
      Type.Object({
        since: IsoTime,
        prompt: Type.String(),
        completion: Type.String(),
        units: nullable(Type.String()),
      }),
    ),
  ),
})
export type ModelDetails = Static<typeof ModelDetails>
