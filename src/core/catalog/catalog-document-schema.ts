import { TIERS } from '../auto/auto-tiers.ts'
import { ROLES } from '../calls/chat-request.ts'
import { AUTH_HEADERS, DEFAULT_PRIORITY, OMITTABLE_FIELDS, WIRES } from './catalog.ts'

const NAME = { type: 'string', minLength: 1, maxLength: 200 } as const
const TOKENS = { type: 'integer', minimum: 1, maximum: 100_000_000 } as const
const PRICE = {
  type: 'string',
  pattern: '^[0-9]{1,6}(\\.[0-9]{1,6})?$',
  description: 'USD per million tokens, as a decimal string of at most six decimals.',
} as const

const PRICES = {
  prompt: PRICE,
  completion: PRICE,
  prompt_audio: { ...PRICE, description: 'Of audio in the prompt. Default: as `prompt`.' },
  prompt_image: { ...PRICE, description: 'Of images in the prompt. Default: as `prompt`.' },
} as const

const prices = (description: string) => ({
  type: 'object',
  description,
  additionalProperties: false,
  required: ['prompt', 'completion'],
  properties: PRICES,
})

const COST_PERCENT = {
  type: 'integer',
  minimum: 0,
  maximum: 200,
  description:
    'Percentage of its list prices that we pay. Default: PROVIDER_COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT.',
} as const

const disabled = (what: string) =>
  ({ type: 'boolean', default: false, description: `${what} is not used, not even with BYOK keys.` }) as const

const ZDR = {
  type: 'boolean',
  default: false,
  description: 'Zero data retention: stores no prompts or completions.',
} as const

const DATA_COLLECTION = {
  enum: ['allow', 'deny'],
  default: 'allow',
  description: '`deny`: the provider does not use the data it receives.',
} as const

const QUIRKS = {
  type: 'object',
  description: 'Differences of the provider from its wire. Default: none.',
  additionalProperties: false,
  properties: {
    auth_header: {
      enum: [...AUTH_HEADERS],
      description: 'The header of the key; `authorization` carries it as a bearer token.',
    },
    path: {
      type: 'string',
      pattern: '^/[^\\s]*$',
      description: 'Instead of `/chat/completions`; may contain a query.',
    },
    headers: {
      type: 'object',
      maxProperties: 16,
      propertyNames: { pattern: '^[A-Za-z0-9-]{1,64}$' },
      additionalProperties: { type: 'string', pattern: '^[\\x20-\\x7e]{0,200}$' },
      description: 'Sent with every request. Put no secret here.',
    },
    fixed_fields: { type: 'object', maxProperties: 16, description: 'Added to every request body.' },
    omit: {
      type: 'array',
      uniqueItems: true,
      items: { enum: [...OMITTABLE_FIELDS] },
      description: 'Fields that it rejects and that are therefore omitted.',
    },
    json_object_only: {
      type: 'boolean',
      description: 'Supports only `json_object` as `response_format`; a schema is requested as that.',
    },
    temperature_max: {
      type: 'number',
      minimum: 0,
      maximum: 2,
      description: 'Maximum temperature; higher values are clamped.',
    },
    one_sampling_parameter: {
      type: 'boolean',
      description: 'Rejects `temperature` and `top_p` together; only the temperature is sent.',
    },
    named_roles: {
      type: 'array',
      uniqueItems: true,
      items: { enum: [...ROLES] },
      description: 'Rejects `name` on messages of other roles.',
    },
    prefill_field: {
      enum: ['prefix', 'partial'],
      description: 'Set to true on a trailing assistant message to request its continuation.',
    },
  },
} as const

const PROVIDER = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'base_url'],
  properties: {
    id: {
      type: 'string',
      pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
      description: 'Lowercase; used in `provider.only` and similar fields.',
    },
    name: { ...NAME, description: 'Default: the id.' },
    wire: { enum: [...WIRES], default: 'chat-completions' },
    base_url: {
      type: 'string',
      pattern: '^https?://[^\\s]+$',
      description: "The base URL before the wire's path, such as `/chat/completions`.",
    },
    api_key_env: {
      type: ['string', 'null'],
      pattern: '^[A-Z_][A-Z0-9_]*$',
      description:
        'Environment variable with the key; ends in KEY or TOKEN and is not used by the gateway itself. Offers are not shared while it is not set. Without this field no key is needed.',
    },
    zdr: ZDR,
    data_collection: DATA_COLLECTION,
    limit_parameter: {
      enum: ['max_tokens', 'max_completion_tokens'],
      default: 'max_tokens',
      description: 'The field for the completion limit.',
    },
    quirks: QUIRKS,
    cost_percent: COST_PERCENT,
    disabled: disabled('The provider'),
  },
} as const

const PRIORITY = {
  type: 'integer',
  minimum: 0,
  maximum: 10_000,
  default: DEFAULT_PRIORITY,
  description: 'Lower values are tried first; offers of the same priority are load-balanced.',
} as const

const OFFER = {
  type: 'object',
  additionalProperties: false,
  required: ['provider', 'upstream_model'],
  properties: {
    provider: { ...NAME, description: 'Id of a provider of this document or of the built-in catalog.' },
    upstream_model: { ...NAME, description: "The model's name at the provider." },
    list_price: prices("The provider's own list price. Default: the model's."),
    long_prompt: {
      type: 'object',
      description: 'Its list price for calls with a longer prompt, if higher.',
      additionalProperties: false,
      required: ['above_tokens', 'prompt', 'completion'],
      properties: { above_tokens: TOKENS, ...PRICES },
    },
    cost: prices('What the provider charges us. Default: our share of its list price, see `cost_percent`.'),
    context_length: { ...TOKENS, description: "Default: the model's." },
    max_output_tokens: { ...TOKENS, description: "Default: the model's." },
    priority: PRIORITY,
    exact_tools: {
      type: 'boolean',
      default: false,
      description: 'Honours tool definitions exactly; `:exacto` uses only such offers.',
    },
    assistant_prefill: {
      type: 'boolean',
      default: false,
      description: 'Continues a trailing assistant message, so a broken stream can be continued by prefill.',
    },
    disabled: disabled('The offer'),
  },
} as const

const AUTO_TIER = {
  enum: [...TIERS],
  description: 'The tier in which `auto` tries it before others. Default: the tier of its price.',
} as const

const MEDIA = {
  type: 'object',
  description:
    "Maximum tokens of media. Default: its maker's published values; for documents and videos without any, the whole context window. Documents and videos are accepted by URL only if their value is stated here.",
  additionalProperties: false,
  properties: {
    image_tokens: { ...TOKENS, description: 'Per image, any size.' },
    audio_tokens_per_second: { ...TOKENS, description: 'Per second of audio.' },
    document_tokens: { ...TOKENS, description: 'Per document, any length.' },
    video_tokens: { ...TOKENS, description: 'Per video, any length.' },
  },
} as const

const MODEL = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'vendor', 'context_length', 'list_price', 'offers'],
  properties: {
    id: {
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._/@+-]{0,199}$',
      not: { const: 'auto' },
      description:
        '`<vendor>/<id>`; bare for the maker whose wire this is. No `:`, which begins a routing suffix.',
    },
    name: { ...NAME, description: 'Default: the id.' },
    vendor: NAME,
    context_length: { ...TOKENS, description: 'Context window: tokens of prompt and completion together.' },
    max_output_tokens: { ...TOKENS, description: 'Default: the context length.' },
    input_modalities: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { enum: ['text', 'image', 'audio', 'video', 'file'] },
      default: ['text'],
    },
    media: MEDIA,
    supported_parameters: {
      type: 'array',
      uniqueItems: true,
      items: NAME,
      default: [],
      description: 'For example `tools`, `response_format`, `temperature`, `top_p`.',
    },
    reasoning: {
      type: 'boolean',
      default: false,
      description: 'A reasoning model, whose first token may be late.',
    },
    open_weights: { type: 'boolean', default: false, description: 'Gets the larger discount.' },
    auto: { type: 'boolean', default: true, description: 'Whether `auto` may choose it.' },
    auto_tier: AUTO_TIER,
    list_price: prices("The maker's list price."),
    rate: prices(
      'The retail rate, if set by the operator: at least 5 % below the list price. Default: the list price less the discount.',
    ),
    disabled: disabled('The model'),
    offers: { type: 'array', minItems: 1, maxItems: 64, items: OFFER },
  },
} as const

const changes = (required: readonly string[], properties: Record<string, object>) => ({
  type: 'array',
  items: { type: 'object', additionalProperties: false, required, properties },
})

const CHANGES = {
  type: 'object',
  description: 'Changes to entries of earlier documents; only the named fields change.',
  additionalProperties: false,
  properties: {
    providers: changes(['id'], {
      id: NAME,
      disabled: disabled('The provider'),
      cost_percent: COST_PERCENT,
      zdr: ZDR,
      data_collection: DATA_COLLECTION,
    }),
    models: changes(['id'], {
      id: NAME,
      disabled: disabled('The model'),
      auto: { type: 'boolean' },
      auto_tier: AUTO_TIER,
      list_price: prices("The maker's list price."),
      rate: prices('The retail rate: at least 5 % below the list price.'),
      media: MEDIA,
    }),
    offers: changes(['provider', 'upstream_model'], {
      provider: NAME,
      upstream_model: NAME,
      disabled: disabled('The offer'),
      cost: prices('What the provider charges us.'),
      priority: PRIORITY,
    }),
  },
} as const

const BOUNDS = {
  type: 'array',
  minItems: 1,
  maxItems: 3,
  items: { type: 'number', minimum: 0, maximum: 1 },
} as const

const AUTO_BOUNDS = {
  type: 'object',
  description:
    'By routing profile: the scores from which `auto` uses the second, third and fourth tier. A tier without a bound is never used.',
  additionalProperties: false,
  properties: { eco: BOUNDS, auto: BOUNDS, premium: BOUNDS, agentic: BOUNDS },
} as const

/** JSON Schema (draft-07) of a catalog document, published as docs/catalog-file.schema.json. */
export const CATALOG_DOCUMENT_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Switchyard catalog file',
  description: 'Providers and models that override the built-in catalog, or replace it with `replace`.',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    source: { type: 'string', description: 'Source of the data.' },
    dated: {
      type: 'string',
      pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
      description: 'The date of the prices. Default: the modification time of the file.',
    },
    replace: { type: 'boolean', default: false, description: 'Ignore the built-in catalog.' },
    providers: { type: 'array', items: PROVIDER },
    models: { type: 'array', items: MODEL },
    auto_bounds: AUTO_BOUNDS,
    changes: CHANGES,
  },
} as const
