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
  description: 'What we pay of its list prices. Default: PROVIDER_COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT.',
} as const

const disabled = (what: string) =>
  ({ type: 'boolean', default: false, description: `${what} is not used, by nobody.` }) as const

const ZDR = {
  type: 'boolean',
  default: false,
  description: 'Zero data retention: keeps no prompt or answer.',
} as const

const DATA_COLLECTION = {
  enum: ['allow', 'deny'],
  default: 'allow',
  description: '`deny`: the provider does not use what it is sent.',
} as const

const QUIRKS = {
  type: 'object',
  description: 'How the provider differs from its wire. Default: not at all.',
  additionalProperties: false,
  properties: {
    auth_header: {
      enum: [...AUTH_HEADERS],
      description: 'The header with the key; `authorization` carries it as a bearer token.',
    },
    path: {
      type: 'string',
      pattern: '^/[^\\s]*$',
      description: 'Instead of `/chat/completions`; may hold a query.',
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
      description: 'Fields that it refuses, and that are left out therefore.',
    },
    json_object_only: {
      type: 'boolean',
      description: 'Takes a `response_format` of `json_object` only; a schema is asked for as that.',
    },
    temperature_max: {
      type: 'number',
      minimum: 0,
      maximum: 2,
      description: 'A higher temperature is sent as this one.',
    },
    one_sampling_parameter: {
      type: 'boolean',
      description: 'Refuses `temperature` and `top_p` together; the temperature is sent.',
    },
    named_roles: {
      type: 'array',
      uniqueItems: true,
      items: { enum: [...ROLES] },
      description: 'Refuses `name` on messages of other roles than these.',
    },
    prefill_field: {
      enum: ['prefix', 'partial'],
      description: 'Set to true on a trailing assistant message, to have it continued.',
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
      description: 'Lowercase; what requests name in `provider.only` and the like.',
    },
    name: { ...NAME, description: 'Default: the id.' },
    wire: { enum: [...WIRES], default: 'chat-completions' },
    base_url: {
      type: 'string',
      pattern: '^https?://[^\\s]+$',
      description: "The address before the wire's own path, such as `/chat/completions`.",
    },
    api_key_env: {
      type: ['string', 'null'],
      pattern: '^[A-Z_][A-Z0-9_]*$',
      description:
        'Environment variable with the key; ends in KEY or TOKEN and is none of the gateway itself. Offers are left out while it is not set. Without this field no key is needed.',
    },
    zdr: ZDR,
    data_collection: DATA_COLLECTION,
    limit_parameter: {
      enum: ['max_tokens', 'max_completion_tokens'],
      default: 'max_tokens',
      description: 'The field in which the provider takes the completion limit.',
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
  description: 'Lower is asked first; offers of the same priority are balanced.',
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
      description: 'What it lists for calls with a longer prompt, where that is more.',
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
      description: 'Continues a trailing assistant message, so a broken stream can be carried on.',
    },
    disabled: disabled('The offer'),
  },
} as const

const AUTO_TIER = {
  enum: [...TIERS],
  description: 'The tier in which `auto` tries it before others. Default: the one of its price.',
} as const

const MEDIA = {
  type: 'object',
  description:
    "The most tokens that it makes of media. Default: its maker's figures; for a document or a video without any, the whole context window. Documents and videos are taken by address only where their figure is stated here.",
  additionalProperties: false,
  properties: {
    image_tokens: { ...TOKENS, description: 'Of an image of any size.' },
    audio_tokens_per_second: { ...TOKENS, description: 'Of a second of audio.' },
    document_tokens: { ...TOKENS, description: 'Of a document of any length.' },
    video_tokens: { ...TOKENS, description: 'Of a video of any length.' },
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
    context_length: { ...TOKENS, description: 'Tokens of prompt and completion together.' },
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
      description: 'Such as `tools`, `response_format`, `temperature`, `top_p`.',
    },
    reasoning: {
      type: 'boolean',
      default: false,
      description: 'Thinks first, so its first token may be late.',
    },
    open_weights: { type: 'boolean', default: false, description: 'Discounted more deeply.' },
    auto: { type: 'boolean', default: true, description: 'Whether `auto` may choose it.' },
    auto_tier: AUTO_TIER,
    list_price: prices("The maker's list price."),
    rate: prices(
      'The retail rate, where the operator sets it himself: at least 5 % below the list price. Default: the list price less the discount.',
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
  description: 'Edits of what earlier documents hold; only what is named is different.',
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
    'By routing profile: from which score on `auto` uses the second, third and fourth tier. One that is missing is never used.',
  additionalProperties: false,
  properties: { eco: BOUNDS, auto: BOUNDS, premium: BOUNDS, agentic: BOUNDS },
} as const

/** JSON Schema (draft-07) of a catalog document, published as docs/catalog-file.schema.json. */
export const CATALOG_DOCUMENT_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Switchyard catalog file',
  description: 'Providers and models, added over the built-in catalog, or instead of it with `replace`.',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    source: { type: 'string', description: 'Where the figures come from.' },
    dated: {
      type: 'string',
      pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
      description: 'The day the prices were true. Default: when the file was last changed.',
    },
    replace: { type: 'boolean', default: false, description: 'Forget the built-in catalog.' },
    providers: { type: 'array', items: PROVIDER },
    models: { type: 'array', items: MODEL },
    auto_bounds: AUTO_BOUNDS,
    changes: CHANGES,
  },
} as const
