import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

/** Medians over calls of the last days that named the model; null where there were fewer than ten. */
const SPEED = {
  first_token_ms: nullable(Type.Number()),
  tokens_per_second: nullable(Type.Number()),
}

/** What is known of a model beside its prices. */
export const ModelFacts = Type.Object({
  id: Type.String(),
  /** The maker's name for people; `vendor` of the pricing feed is its id. */
  maker: Type.String(),
  /** Null: no limit of its own is known, and a completion ends with the context window. */
  max_output_tokens: nullable(Type.Integer()),
  supported_parameters: Type.Array(Type.String()),
  reasoning: Type.Boolean(),
  /** `YYYY-MM-DD`; null: unknown. */
  released_at: nullable(Type.String()),
  /** `YYYY-MM-DD`: from when its maker no longer serves it; null: none is known. */
  deprecated_at: nullable(Type.String()),
  /** 1: the most called model here, of calls that named their model; null: none did. */
  popularity: nullable(Type.Integer()),
  ...SPEED,
})
export type ModelFacts = Static<typeof ModelFacts>

/** The calls that figures are of; null: they cannot be read at present. */
const Measured = nullable(Type.Object({ from: IsoTime, to: IsoTime }))

/** GET /console/api/models, without a session. */
export const ModelFactsList = Type.Object({ measured: Measured, data: Type.Array(ModelFacts) })
export type ModelFactsList = Static<typeof ModelFactsList>

export const ModelProvider = Type.Object({
  /** As `provider.only` and `provider.order` take it. */
  id: Type.String(),
  name: Type.String(),
  zdr: Type.Boolean(),
  data_collection: Type.Enum(['allow', 'deny']),
  context_length: Type.Integer(),
  max_output_tokens: nullable(Type.Integer()),
  /** It serves only calls with a BYOK key of the account. */
  own_key_only: Type.Boolean(),
  ...SPEED,
  /** Share of attempts that succeeded, 0 to 1; null where there were fewer than ten. */
  uptime: nullable(Type.Number()),
})
export type ModelProvider = Static<typeof ModelProvider>

/** GET /console/api/models/:id/providers (id percent-encoded). */
export const ModelProviderList = Type.Object({
  /** The model's id in the catalog, whatever alias was asked for. */
  model: Type.String(),
  measured: Measured,
  data: Type.Array(ModelProvider),
})
export type ModelProviderList = Static<typeof ModelProviderList>
