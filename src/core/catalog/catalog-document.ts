import {
  type Static,
  type TOptional,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  Type,
} from 'typebox'
import { TASK_KINDS } from '../auto/quality-figure.ts'
import { ROLES } from '../calls/chat-request.ts'
import { PRICED_TIERS, UNUSUAL_FIELDS } from '../calls/passed-fields.ts'
import { REASONING_EFFORTS } from '../calls/request-parameters.ts'
import {
  AUTH_HEADERS,
  DEFAULT_PRIORITY,
  FINISH_MEANINGS,
  type FinishMeaning,
  MODEL_KINDS,
  OMITTABLE_FIELDS,
  UNIT_KINDS,
  WIRES,
} from './catalog.ts'
import { CREDENTIALS } from './credentials-document.ts'
import { PUBLISHED_USE_PRICES } from './published-prices.ts'
import type { OptionalPriceName } from './token-rates.ts'

/** An object with only the `required` and `optional` fields. */
function closed<Required extends TProperties, Optional extends TProperties>(
  required: Required,
  optional: Optional,
  annotations: TSchemaOptions = {},
) {
  type Fields = Required & { [Name in keyof Optional]: TOptional<Optional[Name]> }
  const entries = Object.entries(optional).map(([name, schema]) => [name, Type.Optional(schema)])
  const fields = { ...required, ...Object.fromEntries(entries) } as Fields
  return Type.Object(fields, { additionalProperties: false, ...annotations })
}

/** The same schema for each of some names. */
const each = <Name extends string, Schema extends TSchema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((one) => [one, schema])) as Record<Name, Schema>

const name = (description?: string) =>
  Type.String({ minLength: 1, maxLength: 200, ...(description !== undefined && { description }) })

const tokens = (description?: string) =>
  Type.Integer({ minimum: 1, maximum: 100_000_000, ...(description !== undefined && { description }) })

const price = (description: string) => Type.String({ pattern: '^[0-9]{1,6}(\\.[0-9]{1,6})?$', description })

const RATE = price('USD per million tokens, as a decimal string of at most six decimals.')
const PRICES = { prompt: RATE, completion: RATE }
const MEDIA_PRICES = {
  prompt_audio: price('Of audio in the prompt. Default: as `prompt`.'),
  prompt_image: price('Of images in the prompt. Default: as `prompt`.'),
}
const CACHE_PRICES = {
  cache_read: price("Of prompt tokens read from the provider's prompt cache. Default: as `prompt`."),
  cache_write: price("Of prompt tokens written to the provider's prompt cache. Default: as `prompt`."),
  cache_write_hour: price(
    'Of prompt tokens that the provider keeps there for an hour. Default: twice `prompt` for models with `cache_write` that are served on the messages wire, none for others.',
  ),
}
const USE_PRICES = {
  web_search: price(
    `USD per million searches of the web that the provider runs. Default: ${PUBLISHED_USE_PRICES.web_search} for models served on the messages wire, none for others.`,
  ),
  code_execution: price(
    `USD per million calls in which the provider runs programs. Default: ${PUBLISHED_USE_PRICES.code_execution} for models served on the messages wire, none for others.`,
  ),
}

const UNIT_PRICE = { units: price('USD per million units of what the model counts, see `unit`. Default: 0.') }

const OPTIONAL_PRICES = {
  ...MEDIA_PRICES,
  ...CACHE_PRICES,
  ...UNIT_PRICE,
  ...USE_PRICES,
} satisfies Record<OptionalPriceName, TSchema>

const prices = (description: string) => closed(PRICES, OPTIONAL_PRICES, { description })

/** Prices in USD per million tokens, as decimal strings. */
export type DocumentPrices = Static<ReturnType<typeof prices>>

/** A switch that is off unless a document turns it on. */
const off = (description: string) => Type.Boolean({ default: false, description })

const disabled = (what: string) => off(`${what} is not used, not even with BYOK keys.`)

const COST_PERCENT = Type.Integer({
  minimum: 0,
  maximum: 200,
  description:
    'Percentage of its list prices that we pay. Default: PROVIDER_COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT.',
})

const ZDR = off('Zero data retention: stores no prompts or completions.')

const DATA_COLLECTION = Type.Enum(['allow', 'deny'], {
  default: 'allow',
  description: '`deny`: the provider does not use the data it receives.',
})

const RESULT_KINDS = MODEL_KINDS.filter((kind) => kind !== 'chat')
const TASK_URL = Type.String({ pattern: '^https?://[^\\s?#]+$' })

const QUIRKS = closed(
  {},
  {
    auth_header: Type.Enum([...AUTH_HEADERS], {
      description: 'The header of the key; `authorization` carries it as a bearer token.',
    }),
    path: Type.String({
      pattern: '^/[^\\s]*$',
      description: "Instead of the wire's path; may contain a query, and `{model}` for the model's name.",
    }),
    task_urls: closed({}, each(RESULT_KINDS, TASK_URL), {
      description:
        'URLs for kinds other than chat; for images and recordings without their last segments. Default: beside the chat completions.',
    }),
    dimensions_field: Type.Enum(['output_dimension'], {
      description: 'The field for the length of vectors. Default: `dimensions`.',
    }),
    base64_vectors: Type.Boolean({
      description: 'Supports vectors as base64. Default: as numbers only.',
    }),
    base64_images: Type.Boolean({
      description:
        'Returns URLs of images unless `response_format` requests base64. Default: it returns base64, and may reject the field.',
    }),
    headers: Type.Unsafe<Record<string, string>>({
      type: 'object',
      maxProperties: 16,
      propertyNames: { pattern: '^[A-Za-z0-9-]{1,64}$' },
      additionalProperties: { type: 'string', pattern: '^[\\x20-\\x7e]{0,200}$' },
      description: 'Sent with every request. Put no secret here.',
    }),
    fixed_fields: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      maxProperties: 16,
      description: 'Added to every request body.',
    }),
    omit: Type.Array(Type.Enum([...OMITTABLE_FIELDS]), {
      uniqueItems: true,
      description: 'Fields that it rejects and that are therefore omitted.',
    }),
    passes: Type.Array(Type.Enum([...UNUSUAL_FIELDS]), {
      uniqueItems: true,
      description:
        'Fields that it gets as clients send them. End users are named by a digest, and `service_tier` only where the offer has its price.',
    }),
    efforts: Type.Array(Type.Enum([...REASONING_EFFORTS]), {
      minItems: 1,
      uniqueItems: true,
      description: 'The values of `reasoning_effort` that it takes; the nearest is sent. Default: all.',
    }),
    max_tool_uses: Type.Integer({
      minimum: 0,
      maximum: 1_000,
      description:
        'The most searches of the web in a call that states no `max_uses`, as held for. 0: it runs no tools itself. Default: 10.',
    }),
    cache_marks: Type.Boolean({
      description: 'Takes `cache_control` on parts of messages, where writing to its cache has a price.',
    }),
    json_object_only: Type.Boolean({
      description: 'Supports only `json_object` as `response_format`; a schema is requested as that.',
    }),
    temperature_max: Type.Number({
      minimum: 0,
      maximum: 2,
      description: 'Maximum temperature; higher values are clamped.',
    }),
    one_sampling_parameter: Type.Boolean({
      description: 'Rejects `temperature` and `top_p` together; only the temperature is sent.',
    }),
    named_roles: Type.Array(Type.Enum([...ROLES]), {
      uniqueItems: true,
      description: 'Rejects `name` on messages of other roles.',
    }),
    prefill_field: Type.Enum(['prefix', 'partial'], {
      description: 'Set to true on a trailing assistant message to request its continuation.',
    }),
    developer_role: Type.Boolean({
      description: 'Supports the role `developer`; for other providers its messages become system messages.',
    }),
    short_tool_ids: Type.Boolean({
      description: 'Accepts only tool call ids of nine letters and digits.',
    }),
    reasoning_history: Type.Boolean({
      description: 'Requires `reasoning_content` on assistant messages with tool calls.',
    }),
    finish_reasons: Type.Unsafe<Record<string, FinishMeaning>>({
      type: 'object',
      maxProperties: 32,
      propertyNames: { pattern: '^\\S{1,60}$' },
      additionalProperties: { enum: [...FINISH_MEANINGS] },
      description:
        'Its own finish reasons by their meaning; `error` is a completion that it gave up. Default: the known words of all providers.',
    }),
  },
  { description: 'Differences of the provider from its wire. Default: none.' },
)

/** See ProviderQuirks. */
export type DocumentQuirks = Static<typeof QUIRKS>

const PROVIDER = closed(
  {
    id: Type.String({
      pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
      description: 'Lowercase; used in `provider.only` and similar fields.',
    }),
    base_url: Type.String({
      pattern: '^https?://[^\\s]+$',
      description: "The base URL before the wire's path, such as `/chat/completions`.",
    }),
  },
  {
    name: name('Default: the id.'),
    wire: Type.Enum([...WIRES], { default: 'chat-completions' }),
    api_key_env: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      pattern: '^[A-Z_][A-Z0-9_]*$',
      description:
        'Environment variable with the key; ends in KEY or TOKEN and is not used by the gateway itself. Offers are not shared while it is not set. Without this field a provider of an earlier document keeps its key, and a new one needs none.',
    }),
    credentials: CREDENTIALS,
    zdr: ZDR,
    data_collection: DATA_COLLECTION,
    limit_parameter: Type.Enum(['max_tokens', 'max_completion_tokens'], {
      default: 'max_tokens',
      description: 'The field for the completion limit.',
    }),
    quirks: QUIRKS,
    cost_percent: COST_PERCENT,
    follows_list: off(
      "Withdraws models of the operator's own file or edits, too, while the provider's model list lacks them.",
    ),
    disabled: disabled('The provider'),
  },
)
export type DocumentProvider = Static<typeof PROVIDER>

const PRIORITY = Type.Integer({
  minimum: 0,
  maximum: 10_000,
  default: DEFAULT_PRIORITY,
  description: 'Lower values are tried first; offers of the same priority are load-balanced.',
})

const WEIGHT = Type.Number({
  minimum: 0,
  maximum: 100,
  description:
    'The percentage of conversations that start with it, among offers of the same priority; the others share the rest by price. A conversation stays with its offer, except at 0. Default: its share by price.',
})

const TIER_PERCENTS = closed({}, each(PRICED_TIERS, Type.Integer({ minimum: 1, maximum: 1_000 })), {
  description:
    "Prices of its service tiers in percent of its other prices, both the provider's and ours. Needs a provider that `passes` `service_tier`. Default: no tier is asked for.",
})

const OFFER = closed(
  {
    provider: name('Id of a provider of this document or of the built-in catalog.'),
    upstream_model: name("The model's name at the provider."),
  },
  {
    list_price: prices("The provider's own list price. Default: the model's."),
    long_prompt: closed({ above_tokens: tokens(), ...PRICES }, MEDIA_PRICES, {
      description: 'Its list price for calls with a longer prompt, if higher.',
    }),
    tier_percent: TIER_PERCENTS,
    cost: prices('What the provider charges us. Default: our share of its list price, see `cost_percent`.'),
    context_length: tokens("Default: the model's."),
    max_output_tokens: tokens("Default: the model's."),
    priority: PRIORITY,
    weight: WEIGHT,
    exact_tools: off('Calls tools as at the maker of the model; `:exacto` uses only such offers.'),
    assistant_prefill: off(
      'Continues a trailing assistant message, so a broken stream can be continued by prefill.',
    ),
    disabled: disabled('The offer'),
  },
)
export type DocumentOffer = Static<typeof OFFER>

const AUTO_TIER = Type.Unknown({
  description:
    'No longer has an effect: state `quality`. Still accepted, for documents that were stored with it.',
})

const FIGURE = closed(
  {
    value: Type.Number({ minimum: 0, maximum: 1, description: 'Share of the tasks of this kind done well.' }),
    standard_error: Type.Number({ minimum: 0, maximum: 0.5 }),
    source: name('Where it was published, and for which settings of the model.'),
    date: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'Of the publication.' }),
  },
  {},
)

const QUALITY = closed({}, each(TASK_KINDS, FIGURE), {
  description:
    'Published quality by kind of task, by which `auto` chooses. A kind that is not named is estimated.',
})

const OUTPUT_TOKENS = closed(
  {
    default_effort: Type.Enum([...REASONING_EFFORTS], {
      description: 'The effort of a call that asks for none.',
    }),
    source: name('Where it was published.'),
    date: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'Of the publication.' }),
  },
  {
    by_effort: closed({}, each(REASONING_EFFORTS, tokens()), {
      description: 'Mean tokens of a task, reasoning included. Default: as related models.',
    }),
  },
  {
    description:
      'Output tokens that a published set of tasks took the model, from which `auto` estimates what a call costs.',
  },
)

const COMPLETION_TOKENS = closed({}, each(TASK_KINDS, tokens()), {
  description:
    'Expected tokens of a completion by kind of task, reasoning included, at the default effort. Default: as measured here, or else estimated from `output_tokens`.',
})

const MEDIA = closed(
  {},
  {
    image_tokens: tokens('Per image, any size.'),
    audio_tokens_per_second: tokens('Per second of audio.'),
    document_tokens: tokens('Per document, any length.'),
    video_tokens: tokens('Per video, any length.'),
  },
  {
    description:
      "Maximum tokens of media. Default: its developer's published values; for documents and videos without any, the whole context window. Documents and videos are accepted by URL only if their value is stated here.",
  },
)

const day = (description: string) => Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description })

const DEPRECATED_AT = day(
  'The date when its developer stops serving it. Shown to customers; does not change routing. Default: unknown.',
)

const IMAGE_KEY = '^[a-z]{0,16}/[1-9][0-9]{1,3}x[1-9][0-9]{1,3}$'

const MODEL_ID = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._/@+-]{0,199}$',
  not: { const: 'auto' },
  description:
    '`<vendor>/<id>`; bare for the developer whose wire this is. No `:`, which begins a routing suffix.',
})

const MODEL = closed(
  {
    id: MODEL_ID,
    vendor: name(),
    context_length: tokens('Context window: tokens of prompt and completion together.'),
    list_price: prices("The developer's list price."),
    offers: Type.Array(OFFER, { minItems: 1, maxItems: 64 }),
  },
  {
    name: name('Default: the id.'),
    kind: Type.Enum([...MODEL_KINDS], {
      default: 'chat',
      description: 'Its kind: only the surface of that kind can call it.',
    }),
    unit: Type.Enum([...UNIT_KINDS], { description: 'The unit of its price `units`. Default: none.' }),
    least_units: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Minimum units charged for a call, if providers bill a minimum. Default: none.',
    }),
    dimensions: tokens('Components of its vectors at most; required for models that make them.'),
    image_units: Type.Unsafe<Record<string, number>>({
      type: 'object',
      minProperties: 1,
      maxProperties: 64,
      propertyNames: { pattern: IMAGE_KEY },
      additionalProperties: tokens(),
      description:
        'Units of one image by `<quality>/<size>`, as `high/1024x1024`; `/1024x1024` without qualities. The first is made when nothing is asked, and no others are made. Required for `image`.',
    }),
    max_output_tokens: tokens('Default: none of its own; a completion then ends with the context window.'),
    input_modalities: Type.Array(Type.Unsafe<string>({ enum: ['text', 'image', 'audio', 'video', 'file'] }), {
      minItems: 1,
      uniqueItems: true,
      default: ['text'],
    }),
    media: MEDIA,
    supported_parameters: Type.Array(name(), {
      uniqueItems: true,
      description:
        'Of chats `tools`, which implies `tool_choice` and `parallel_tool_calls`; `response_format`; `temperature`, which implies `stop`, `seed`, `presence_penalty`, `frequency_penalty`, `logprobs` and `top_logprobs`; `top_p`; and each of these by itself. Default: all of them. Of images `background` and `style`, of transcriptions `translations` and `timestamp_granularities`, of embeddings `dimensions`; default there: none.',
    }),
    reasoning: off('A reasoning model, whose first token may be late.'),
    open_weights: off('Gets the larger discount.'),
    released_at: day('When its developer released it. Default: unknown.'),
    deprecated_at: DEPRECATED_AT,
    auto: Type.Boolean({ default: true, description: 'Whether `auto` may choose it.' }),
    auto_tier: AUTO_TIER,
    quality: QUALITY,
    output_tokens: OUTPUT_TOKENS,
    completion_tokens: COMPLETION_TOKENS,
    rate: prices(
      'The retail rate, if set by the operator: at least 5 % below the list price. Default: the list price less the discount.',
    ),
    disabled: disabled('The model'),
  },
)
export type DocumentModel = Static<typeof MODEL>

const PROVIDER_CHANGE = closed(
  { id: name() },
  {
    disabled: disabled('The provider'),
    cost_percent: COST_PERCENT,
    zdr: ZDR,
    data_collection: DATA_COLLECTION,
  },
)

const MODEL_CHANGE = closed(
  { id: name() },
  {
    disabled: disabled('The model'),
    auto: Type.Boolean(),
    auto_tier: AUTO_TIER,
    quality: QUALITY,
    output_tokens: OUTPUT_TOKENS,
    completion_tokens: COMPLETION_TOKENS,
    context_length: tokens('Context window: tokens of prompt and completion together.'),
    max_output_tokens: tokens(),
    supported_parameters: Type.Array(name(), { uniqueItems: true }),
    reasoning: Type.Boolean(),
    list_price: prices("The developer's list price."),
    rate: prices('The retail rate: at least 5 % below the list price.'),
    media: MEDIA,
    deprecated_at: DEPRECATED_AT,
  },
)

const OFFER_CHANGE = closed(
  { provider: name(), upstream_model: name() },
  {
    disabled: disabled('The offer'),
    list_price: prices("The provider's own list price."),
    cost: prices('What the provider charges us.'),
    priority: PRIORITY,
    weight: WEIGHT,
  },
)

const CHANGES = closed(
  {},
  {
    providers: Type.Array(PROVIDER_CHANGE),
    models: Type.Array(MODEL_CHANGE),
    offers: Type.Array(OFFER_CHANGE),
  },
  { description: 'Changes to entries of earlier documents; only the named fields change.' },
)

/** Changes to entries of earlier documents: each names an entry and the changed fields. */
export type DocumentChanges = Static<typeof CHANGES>

const BOUNDS = Type.Array(Type.Number({ minimum: 0, maximum: 1 }), { minItems: 1, maxItems: 3 })

const AUTO_BOUNDS = closed(
  {},
  { eco: BOUNDS, auto: BOUNDS, premium: BOUNDS, agentic: BOUNDS },
  {
    description:
      'No longer has an effect: `auto` compares value, see `auto_point_usd`. Still accepted, for documents that were stored with it.',
  },
)

const POINT_USD = Type.Number({ minimum: 0.0001, maximum: 10_000 })

const AUTO_POINT_USD = closed(
  {},
  { eco: POINT_USD, auto: POINT_USD, premium: POINT_USD, agentic: POINT_USD },
  {
    description:
      'By routing profile: what `auto` pays for a point of quality, in USD per 1,000 calls. A point is one more of a hundred calls answered well.',
  },
)

const ALIAS = closed(
  {
    id: MODEL_ID,
    models: Type.Array(name('Ids of models, which are tried in this order.'), { minItems: 1, maxItems: 16 }),
  },
  {},
)

/** JSON Schema (draft-07) of a catalog document, published as docs/catalog-file.schema.json. */
export const CATALOG_DOCUMENT_SCHEMA = closed(
  {},
  {
    $schema: Type.String(),
    source: Type.String({ description: 'Source of the data.' }),
    dated: day('The date of the prices. Default: the modification time of the file.'),
    replace: off('Ignore the built-in catalog.'),
    providers: Type.Array(PROVIDER),
    models: Type.Array(MODEL),
    aliases: Type.Array(ALIAS, {
      description: 'Other names, which clients may use as the model. They go before ids of models.',
    }),
    auto_bounds: AUTO_BOUNDS,
    auto_point_usd: AUTO_POINT_USD,
    changes: CHANGES,
  },
  {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Shuntyard catalog file',
    description: 'Providers and models that override the built-in catalog, or replace it with `replace`.',
  },
)

/** A valid catalog document; field names as in the file. */
export type CatalogDocument = Static<typeof CATALOG_DOCUMENT_SCHEMA>
