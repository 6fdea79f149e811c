import { type Static, Type } from 'typebox'
import { CLOSED, line, nullable, optional } from './request-fields.ts'
import { DecimalUsd, IsoTime, List } from './shared.ts'

const VERSION_LENGTH_MAX = 20

/** One version of the operator's edits. GET /admin/api/catalog/edits?limit: `List<CatalogEditsView>`, newest first. */
export const CatalogEditsView = Type.Object({
  version: Type.String(),
  author: Type.String(),
  created_at: IsoTime,
  /** A catalog document; docs/catalog-file.schema.json is its schema. */
  content: Type.Record(Type.String(), Type.Unknown()),
})
export type CatalogEditsView = Static<typeof CatalogEditsView>

/** GET /admin/api/catalog. */
export const CatalogView = Type.Object({
  object: Type.Literal('catalog'),
  version: Type.String(),
  generated_at: IsoTime,
  models: Type.Number(),
  /** Models that at least one provider serves. */
  available_models: Type.Number(),
  offers: Type.Number(),
  /** The operator's current edits; null before the first. */
  edits: nullable(CatalogEditsView),
})
export type CatalogView = Static<typeof CatalogView>

/**
 * POST /admin/api/catalog/check: previews a document's effects on the catalog. Response: `CatalogCheckView`. POST
 * /admin/api/catalog/edits: applies it. Response: `CatalogEditsApplied`; 400 with the problems in its message; 409
 * `conflict` if other edits were applied since `expected_version` (null: none before; absent: any).
 */
export const CatalogEditsRequest = Type.Object(
  {
    content: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      errorMessage: '`content` takes a catalog document, a JSON object.',
    }),
    expected_version: optional(line('expected_version', 1, VERSION_LENGTH_MAX)),
  },
  CLOSED,
)
export type CatalogEditsRequest = Static<typeof CatalogEditsRequest>

/** POST /admin/api/catalog/revert: applies an earlier version again, as a new one. Response: `CatalogEditsApplied`. */
export const CatalogRevertRequest = Type.Object({ version: line('version', 1, VERSION_LENGTH_MAX) }, CLOSED)
export type CatalogRevertRequest = Static<typeof CatalogRevertRequest>

export const CatalogCheckView = Type.Object({
  object: Type.Literal('catalog_check'),
  valid: Type.Boolean(),
  problems: Type.Array(Type.String()),
  /** Number of models in the resulting catalog; null with problems. */
  models: nullable(Type.Number()),
  /** The effects on calls, worst first; none with problems. */
  effects: Type.Array(
    Type.Object({
      /** Calls that fail; offers that lose money; models that become free; all others. */
      kind: Type.Enum(['offline', 'loss', 'free', 'change']),
      /** The model's id, or `auto`. */
      model: Type.String(),
      message: Type.String(),
    }),
  ),
  /** How many there are of each kind, also of those that are left out of `effects`. */
  counts: Type.Object({
    offline: Type.Integer(),
    loss: Type.Integer(),
    free: Type.Integer(),
    change: Type.Integer(),
  }),
})
export type CatalogCheckView = Static<typeof CatalogCheckView>

export const CatalogEditsApplied = Type.Object({
  object: Type.Literal('catalog_edits'),
  edits: CatalogEditsView,
  /** False if other processes were not notified yet; they will apply it. */
  announced: Type.Boolean(),
})
export type CatalogEditsApplied = Static<typeof CatalogEditsApplied>

/** GET /admin/api/models/:id/history?limit (id percent-encoded): `List<RateHistoryView>`, newest first. */
export const RateHistoryView = Type.Object({
  rate_version: Type.String(),
  prompt: Type.String(),
  completion: Type.String(),
  list_prompt: Type.String(),
  list_completion: Type.String(),
  /** For audio and images in the prompt; null: as the other prompt tokens. */
  prompt_audio: nullable(Type.String()),
  prompt_image: nullable(Type.String()),
  list_prompt_audio: nullable(Type.String()),
  list_prompt_image: nullable(Type.String()),
  /** For cached prompt tokens; null: as the other prompt tokens. */
  cache_read: nullable(Type.String()),
  cache_write: nullable(Type.String()),
  cache_write_hour: nullable(Type.String()),
  /** Per million units; null: none. */
  units: nullable(Type.String()),
  list_cache_read: nullable(Type.String()),
  list_cache_write: nullable(Type.String()),
  list_units: nullable(Type.String()),
  list_cache_write_hour: nullable(Type.String()),
  /** Per million uses of tools that the provider runs; null: none. */
  web_search: nullable(Type.String()),
  list_web_search: nullable(Type.String()),
  code_execution: nullable(Type.String()),
  list_code_execution: nullable(Type.String()),
  /** The version of the catalog that introduced it. */
  source: Type.String(),
  effective_at: IsoTime,
})
export type RateHistoryView = Static<typeof RateHistoryView>

/** GET /v1/models; admin keys see more of each model. */
export const ModelList = List(
  Type.Object({
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer(),
    owned_by: Type.String(),
  }),
)

const AUTO_ENTRY = {
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix seconds; of a model, when its rate last changed' }),
  owned_by: Type.String({ description: 'The developer of the model' }),
}

/** A model of GET /v2/models. `auto` has no rate of its own, and no window. */
export const CatalogModel = Type.Object(
  {
    ...AUTO_ENTRY,
    name: Type.Optional(Type.String()),
    description: Type.Optional(
      Type.String({ description: 'A paragraph; only where one model is asked for' }),
    ),
    kind: Type.Optional(Type.String()),
    context_length: optional(Type.Integer()),
    max_output_tokens: optional(Type.Integer()),
    supported_parameters: Type.Optional(Type.Array(Type.String())),
    rate: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'USD per million tokens, or per unit, as in /pricing.json',
      }),
    ),
    status: Type.Optional(Type.Enum(['available', 'unavailable'])),
  },
  { additionalProperties: true },
)
export type CatalogModel = Static<typeof CatalogModel>
export const CatalogModelList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(CatalogModel),
  total_count: Type.Integer(),
  links: Type.Object({ next: Type.Null() }),
})

/** A model as clients of the messages wire read it. */
export const MessagesModel = Type.Object({
  type: Type.Literal('model'),
  id: Type.String(),
  display_name: Type.String(),
  created_at: IsoTime,
  max_input_tokens: nullable(Type.Integer()),
  max_tokens: nullable(Type.Integer()),
})
export type MessagesModel = Static<typeof MessagesModel>
/** GET /v2/models?limit&after_id&before_id with the header `anthropic-version`. */
export const MessagesModelList = Type.Object({
  data: Type.Array(MessagesModel),
  has_more: Type.Boolean(),
  first_id: nullable(Type.String()),
  last_id: nullable(Type.String()),
})

/** GET /pricing.json. */
export const PricingFeedBody = Type.Object({
  version: Type.String(),
  generated_at: IsoTime,
  currency: Type.Literal('USD'),
  unit: Type.Literal('per_million_tokens'),
  data: Type.Array(Type.Object({ id: Type.String(), prompt: DecimalUsd, completion: DecimalUsd }), {
    description: 'Retail and list rates of every model; docs/catalog.md has its fields',
  }),
})
