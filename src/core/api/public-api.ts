/** The JSON of the public API, as its routes send it and /openapi.json documents it. */
import { type TSchema, Type } from 'typebox'
import { USAGE_GROUPS } from '../billing/usage-query.ts'
import { nullable } from './nullable.ts'

const Text = Type.String()
const Count = Type.Integer()
const Flag = Type.Boolean()
const Usd = Type.String({ description: 'USD, an exact decimal string' })
const Time = Type.String({ format: 'date-time' })

const listOf = <S extends TSchema>(entry: S) =>
  Type.Object({ object: Type.Literal('list'), data: Type.Array(entry) })

export const ErrorBody = Type.Object({
  error: Type.Object({
    message: Text,
    type: Text,
    param: nullable(Type.String({ description: 'The path of the offending field' })),
    code: Text,
    request_id: Text,
    metadata: Type.Optional(Type.Record(Text, Type.Unknown())),
  }),
})

/** A settled call; docs/api.md says what its fields mean. */
export const Generation = Type.Object({
  id: Text,
  object: Type.Literal('generation'),
  created: Count,
  model: Text,
  key_id: Text,
  request_id: Text,
  stream: Flag,
  status: Type.Enum(['completed', 'failed', 'cancelled', 'interrupted']),
  finish_reason: nullable(Text),
  error_code: nullable(Text),
  byok: Flag,
  provider_key_id: nullable(Text),
  duplicate_of: nullable(Text),
  usage: Type.Object({
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    audio_tokens: Type.Optional(Count),
    image_tokens: Type.Optional(Count),
    source: Type.Enum(['upstream', 'counted', 'estimated', 'none']),
  }),
  cost_usd: Usd,
  rates: nullable(
    Type.Object({
      prompt: Usd,
      completion: Usd,
      prompt_audio: Type.Optional(Usd),
      prompt_image: Type.Optional(Usd),
      unit: Type.Literal('usd_per_million_tokens'),
      version: nullable(Text),
    }),
  ),
  timings: Type.Object({
    admitted_at: Time,
    finished_at: Time,
    settled_at: Time,
    queued_ms: nullable(Count),
    first_token_ms: nullable(Count),
    duration_ms: Count,
  }),
})

export const GenerationDetail = Type.Interface([Generation], {
  rescued: Flag,
  provider_key_failures: Type.Array(
    Type.Object({ provider_key_id: nullable(Text), reason: Text, http_status: nullable(Count) }),
  ),
})

export const GenerationPage = Type.Interface([listOf(Generation)], {
  has_more: Flag,
  next_cursor: nullable(Text),
})

export const KeyInfo = Type.Object({
  id: Text,
  object: Type.Literal('key'),
  name: Text,
  limit_usd: nullable(Usd),
  used_usd: nullable(Usd),
  remaining_usd: nullable(Usd),
  available_balance_usd: nullable(Usd),
  limit_reset: Text,
  resets_at: nullable(Time),
  expires_at: nullable(Time),
  rate_limits: Type.Object({
    requests_per_minute: Count,
    tokens_per_minute: Count,
    concurrent_calls: Count,
    account_requests_per_minute: Count,
    account_concurrent_calls: Count,
  }),
})

export const Credits = Type.Object({
  data: Type.Object({ total_credits: Usd, total_usage: Usd, available: Usd }),
})

const usageSums = {
  calls: Count,
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  cost_usd: Usd,
}
export const Usage = Type.Object({
  object: Type.Literal('usage'),
  from: Time,
  to: Time,
  group_by: Type.Enum([...USAGE_GROUPS]),
  data: Type.Array(
    Type.Object({
      day: Type.Optional(Text),
      model: Type.Optional(Text),
      key_id: Type.Optional(Text),
      key_name: Type.Optional(nullable(Text)),
      ...usageSums,
    }),
  ),
  total: Type.Object(usageSums),
})

export const ProviderKeyBody = Type.Object({
  id: Text,
  object: Type.Literal('provider_key'),
  provider: Text,
  name: Text,
  last4: Text,
  allow_fallback: Flag,
  status: Text,
  accepted_at: nullable(Time),
  failing_since: nullable(Time),
  last_error: nullable(Text),
  last_error_at: nullable(Time),
  created_at: Time,
})

export const ProviderKeyPage = Type.Interface([listOf(ProviderKeyBody)], { providers: Type.Array(Text) })

export const ProviderKeyDeleted = Type.Object({
  id: Text,
  object: Type.Literal('provider_key'),
  deleted: Type.Literal(true),
})

export const TopUp = Type.Object({
  payment_id: Text,
  rail: Text,
  test: Flag,
  state: Text,
  amount_usd: Usd,
  refunded_usd: Usd,
  disputed_usd: Usd,
  checkout_url: nullable(Text),
  failure_reason: nullable(Text),
  created_at: Time,
  settled_at: nullable(Time),
})

export const TopUpPage = Type.Interface([listOf(TopUp)], {
  has_more: Flag,
  options: Type.Object({
    presets_usd: Type.Array(Usd),
    min_usd: Usd,
    max_usd: Usd,
    rails: Type.Array(Text),
  }),
})

/** Admin keys see more of each model. */
export const ModelList = listOf(
  Type.Object({ id: Text, object: Type.Literal('model'), created: Count, owned_by: Text }),
)

export const PricingFeedBody = Type.Object({
  version: Text,
  generated_at: Time,
  currency: Type.Literal('USD'),
  unit: Type.Literal('per_million_tokens'),
  data: Type.Array(Type.Object({ id: Text, prompt: Usd, completion: Usd }), {
    description: 'Retail and list rates of every model; docs/catalog.md has its fields',
  }),
})
