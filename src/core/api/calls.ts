import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'
import { CLOSED, nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime, Page } from './shared.ts'

export const CALL_STATUSES = ['completed', 'failed', 'cancelled', 'interrupted'] as const
/** The figures that a list of calls is sorted by. Without a first token, a call is the last of its order. */
export const CALL_SORTS = ['time', 'cost', 'first_token', 'duration', 'tokens'] as const
export type CallSort = (typeof CALL_SORTS)[number]

const CallStatus = Type.Enum([...CALL_STATUSES])

/** `counted`: the upstream reported no usage, so the gateway counted the text. */
const UsageSource = Type.Enum(['upstream', 'counted', 'estimated', 'none'])

/** Null when nothing was delivered, and for `auto`, whose target is not disclosed. */
const Rates = nullable(
  Type.Object({
    prompt: DecimalUsd,
    completion: DecimalUsd,
    /** For audio and images in the prompt; absent: as `prompt`. */
    prompt_audio: Type.Optional(DecimalUsd),
    prompt_image: Type.Optional(DecimalUsd),
    /** For cached prompt tokens; absent: as `prompt`. */
    cache_read: Type.Optional(DecimalUsd),
    cache_write: Type.Optional(DecimalUsd),
    /** For tokens kept in the prompt cache for an hour; absent: as `cache_write`. */
    cache_write_hour: Type.Optional(DecimalUsd),
    /** Per million uses of tools that the provider runs; absent: the call had none. */
    web_search: Type.Optional(DecimalUsd),
    code_execution: Type.Optional(DecimalUsd),
    /** Per million units besides tokens; absent: none. */
    units: Type.Optional(DecimalUsd),
    unit: Type.Literal('usd_per_million_tokens'),
    version: nullable(Type.String()),
  }),
)

export const ByokFailureView = Type.Object({
  /** Null for `auto`, whose target is not disclosed. */
  provider_key_id: nullable(Type.String()),
  reason: Type.Enum([
    'unauthorized',
    'payment_required',
    'forbidden',
    'model_not_found',
    'not_in_use',
    'rate_limited',
    'unavailable',
    'unreachable',
    'provider_failed',
  ]),
  http_status: nullable(Type.Number()),
})
export type ByokFailureView = Static<typeof ByokFailureView>

/** The client's labels of a call; absent: not set. */
const Labels = Type.Object({
  /** `X-Title`. */
  title: Type.Optional(Type.String()),
  /** `HTTP-Referer`, without query. */
  referer: Type.Optional(Type.String()),
  metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** The version of the preset that it used: `name@3`. */
  preset: Type.Optional(Type.String()),
  /** The conversation that it belongs to. */
  session: Type.Optional(Type.String()),
  /** The call whose response this one repeats, from the response cache. */
  cached: Type.Optional(Type.String()),
  /** The groups whose budgets bound it: `project:Search`, `tag:team=search`, `user:42`. */
  groups: Type.Optional(Type.Array(Type.String())),
})
export type Labels = Static<typeof Labels>

/** A settled call, in the lists of GET /v1/usage/calls; docs/api.md describes its fields. */
export const Generation = Type.Object({
  id: Type.String(),
  object: Type.Literal('generation'),
  created: Type.Integer(),
  model: Type.String(),
  key_id: Type.String(),
  request_id: Type.String(),
  stream: Type.Boolean(),
  status: CallStatus,
  finish_reason: nullable(Type.String()),
  error_code: nullable(Type.String()),
  byok: Type.Boolean(),
  provider_key_id: nullable(Type.String()),
  duplicate_of: nullable(Type.String()),
  usage: Type.Object({
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
    audio_tokens: Type.Optional(Type.Integer()),
    image_tokens: Type.Optional(Type.Integer()),
    cached_tokens: Type.Optional(Type.Integer()),
    cache_write_tokens: Type.Optional(Type.Integer()),
    /** Part of the written ones: kept for an hour. */
    cache_write_hour_tokens: Type.Optional(Type.Integer()),
    /** Uses of tools that the provider ran. */
    web_searches: Type.Optional(Type.Integer()),
    code_executions: Type.Optional(Type.Integer()),
    /** Usage besides tokens, and its unit; absent: none. */
    units: Type.Optional(Type.Integer()),
    unit: Type.Optional(Type.String()),
    source: UsageSource,
  }),
  cost_usd: DecimalUsd,
  rates: Rates,
  /** The one that was served and charged; absent: the usual one. */
  service_tier: Type.Optional(Type.String()),
  /** Absent: the client sent none. */
  labels: Type.Optional(Labels),
  timings: Type.Object({
    admitted_at: IsoTime,
    finished_at: IsoTime,
    settled_at: IsoTime,
    queued_ms: nullable(Type.Integer()),
    first_token_ms: nullable(Type.Integer()),
    duration_ms: Type.Integer(),
  }),
})
export type Generation = Static<typeof Generation>

/** GET /v1/generations/{id}. */
export const GenerationDetail = Type.Interface([Generation], {
  /** The completion broke off, and another attempt finished it. */
  rescued: Type.Boolean(),
  /** Of the account's BYOK keys that were tried: those that did not work, in order. */
  provider_key_failures: Type.Array(ByokFailureView),
})
export type GenerationDetail = Static<typeof GenerationDetail>

/** POST /v1/generations/{id}/feedback. */
export const FeedbackBody = Type.Object(
  {
    /** How well the call was answered: 0 to 1, or in a word. */
    score: Type.Unsafe<number | 'good' | 'bad'>({
      anyOf: [
        { type: 'number', minimum: 0, maximum: 1 },
        { type: 'string', enum: ['good', 'bad'] },
      ],
      errorMessage: '`score` must be a number from 0 to 1, `good` or `bad`.',
    }),
  },
  CLOSED,
)

export const Feedback = Type.Object({
  /** Of the call. */
  id: Type.String(),
  object: Type.Literal('generation.feedback'),
  score: Type.Number(),
})

/** A page of a sorted list of calls, with the way back. */
export interface CallPage<T> extends Page<T> {
  /** Null on the first page. */
  previous_cursor: string | null
  /**
   * A page looks at fifty thousand calls at most. By time it then has fewer rows, and the next page continues from here;
   * sorted by a figure, only calls since then are listed. Null: the whole period was looked at.
   */
  searched_to: string | null
}
export const CallPage = <T extends TSchema>(item: T) =>
  Type.Object({
    ...Page(item).properties,
    previous_cursor: nullable(Type.String()),
    searched_to: nullable(IsoTime),
  })

/**
 * GET /console/api/calls?from&to&time_zone&at&q&model&key_id&member_id&status&sort&order&cursor&limit → CallPage<AccountCall>.
 * `q` is the id of a call, wherever it is, or of the client's request, or a part of a label, of a model, of the name of a
 * key, of a status or of an error; `model` a model by any alias; `at` a moment that a page by time begins at. The same
 * filters at GET /console/api/calls.csv, a download of all of them, newest first.
 */
export const AccountCall = Type.Interface([Generation], {
  /** When its prompt log expires; absent: it has none, or it was not read. */
  prompt_log_until: Type.Optional(IsoTime),
})
export type AccountCall = Static<typeof AccountCall>

/** An attempt at one provider as the call's owner sees it: how it ended, not where it went. */
export const CallAttempt = Type.Object({
  /** `ok`, or the failure's kind. */
  outcome: Type.String(),
  /** Null to owners of calls of `auto`: an unusual one names its provider. */
  http_status: nullable(Type.Number()),
  /** The provider's message about its failure, without keys and quotations of the request; null: none, or it is not the reader's. */
  provider_message: nullable(Type.String()),
  started_at: IsoTime,
  first_token_ms: nullable(Type.Number()),
  duration_ms: Type.Number(),
  /** It finished a completion that another attempt had started. */
  rescued: Type.Boolean(),
  /** The client's BYOK key that was used; null: a platform key, or hidden. */
  provider_key_id: nullable(Type.String()),
})
export type CallAttempt = Static<typeof CallAttempt>

/** GET /console/api/calls/:id. 404 with `Retry-After: 1` while the call is not settled: retry. */
export const CallDetail = Type.Interface([GenerationDetail], {
  ...AccountCall.properties,
  /** The HTTP status that its error came with, 200 within a stream that had begun; null: it has no error. */
  error_status: nullable(Type.Integer()),
  attempts: Type.Array(CallAttempt),
})
export type CallDetail = Static<typeof CallDetail>

/** GET /console/api/calls/:id/prompt-log: request and completion, for roles that may use the key of the call. */
export const PromptLogView = Type.Object({
  call_id: Type.String(),
  /** JSON, possibly truncated. */
  request: Type.String(),
  request_truncated: Type.Boolean(),
  /** JSON of a message: `content`, `tool_calls`, … */
  answer: Type.String(),
  answer_truncated: Type.Boolean(),
  created_at: IsoTime,
  expires_at: IsoTime,
})
export type PromptLogView = Static<typeof PromptLogView>

/** Whose call it is. Null: there is no such account or key, or it is not known yet. */
const CALL_OWNER = {
  /** The customer's email, or the organisation's name. */
  account_name: nullable(Type.String()),
  key_name: nullable(Type.String()),
}

/**
 * GET /admin/api/calls?q&account&key&request&status&model&offer&min_duration_ms&from&to&at&sort&order&limit&cursor:
 * `CallPage<OperatorCall>`. Settled calls, admitted in the span; by default the last 30 days. `account` is an id, an email,
 * an organisation's name or a part of them, `key` an id or a part of a name; `q` searches all of these.
 */
export const OperatorCall = Type.Object({
  id: Type.String(),
  account_id: Type.String(),
  key_id: Type.String(),
  ...CALL_OWNER,
  request_id: Type.String(),
  status: CallStatus,
  error_code: nullable(Type.String()),
  finish_reason: nullable(Type.String()),
  stream: Type.Boolean(),
  requested_model: Type.String(),
  served_model: nullable(Type.String()),
  served_offer: nullable(Type.String()),
  prompt_tokens: Type.Number(),
  completion_tokens: Type.Number(),
  /** Part of the prompt tokens. */
  audio_tokens: Type.Number(),
  image_tokens: Type.Number(),
  cached_tokens: Type.Number(),
  cache_write_tokens: Type.Number(),
  /** Part of the written ones: kept for an hour. */
  cache_write_hour_tokens: Type.Number(),
  /** Uses of tools that the provider ran. */
  web_searches: Type.Number(),
  code_executions: Type.Number(),
  /** Usage besides tokens; null: none. */
  units: Type.Number(),
  unit: nullable(Type.String()),
  is_byok: Type.Boolean(),
  /** The call that its Idempotency-Key was charged for; this call costs the client nothing. */
  duplicate_of: nullable(Type.String()),
  /** Score, 0 to 1, and routing profile of `auto`; null if the call named its model. */
  auto_score: nullable(Type.Number()),
  auto_profile: nullable(Type.String()),
  held_usd: DecimalUsd,
  charged_usd: DecimalUsd,
  /** The provider's price: tokens at the cost rates of the call. */
  cost_usd: DecimalUsd,
  margin_usd: DecimalUsd,
  admitted_at: IsoTime,
  queued_ms: nullable(Type.Number()),
  first_token_ms: nullable(Type.Number()),
  duration_ms: Type.Number(),
  settlement_lag_ms: Type.Number(),
})
export type OperatorCall = Static<typeof OperatorCall>

export type CallOwner = Pick<OperatorCall, keyof typeof CALL_OWNER>

export const TimelineEvent = Type.Object({
  at: IsoTime,
  /** Since the call was admitted. */
  after_ms: Type.Number(),
  kind: Type.Enum(['admitted', 'claimed', 'attempt', 'attempt_ended', 'first_token', 'finished', 'settled']),
  /** Text for people. */
  event: Type.String(),
})
export type TimelineEvent = Static<typeof TimelineEvent>

/** A call that waits, runs, or waits for its settlement. */
export const InFlightTimeline = Type.Object({
  object: Type.Literal('call_timeline'),
  id: Type.String(),
  state: Type.Enum(['queued', 'running', 'settling']),
  queue: Type.Enum(['dispatch', 'settlement']),
  /** The rest is null while the call waits for its settlement. */
  account_id: nullable(Type.String()),
  key_id: nullable(Type.String()),
  ...CALL_OWNER,
  request_id: nullable(Type.String()),
  requested_model: nullable(Type.String()),
  stream: nullable(Type.Boolean()),
  held_usd: nullable(DecimalUsd),
  /** Possible targets, in order. */
  candidates: Type.Array(
    Type.Object({
      offer: Type.String(),
      model: Type.String(),
    }),
  ),
  claims: Type.Number(),
  timeline: Type.Array(TimelineEvent),
})
export type InFlightTimeline = Static<typeof InFlightTimeline>

export const AttemptView = Type.Object({ offer: Type.String(), ...CallAttempt.properties })
export type AttemptView = Static<typeof AttemptView>

const PARTS = ['prompt_audio', 'prompt_image', 'cache_read', 'cache_write', 'cache_write_hour'] as const
const RATE_KINDS = ['prompt', 'completion', ...PARTS, 'units', 'web_search', 'code_execution'] as const

/** The rates of a call by kind. Null: as the other prompt tokens; of units and uses: none. */
const rateFields = <Of extends string>(of: Of) =>
  Object.fromEntries(RATE_KINDS.map((name) => [`${name}_${of}`, nullable(Type.String())])) as Record<
    `${(typeof RATE_KINDS)[number]}_${Of}`,
    TUnsafe<string | null>
  >

export const SettledTimeline = Type.Object({
  ...OperatorCall.properties,
  object: Type.Literal('call_timeline'),
  state: Type.Literal('settled'),
  /** Null: the client sent none. */
  labels: nullable(Labels),
  /** When the account's prompt log expires; absent: none. Operators cannot read the log. */
  prompt_log_until: Type.Optional(IsoTime),
  usage_source: Type.String(),
  usage_clamped: Type.Boolean(),
  ...rateFields('rate'),
  ...rateFields('cost_rate'),
  rate_version: nullable(Type.String()),
  attempts: Type.Array(AttemptView),
  timeline: Type.Array(TimelineEvent),
})
export type SettledTimeline = Static<typeof SettledTimeline>

/** GET /admin/api/calls/:id/timeline. */
export const CallTimelineView = Type.Union([SettledTimeline, InFlightTimeline])
export type CallTimelineView = Static<typeof CallTimelineView>
