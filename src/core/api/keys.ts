import { type Static, Type } from 'typebox'
import { KEY_AUTHORITIES } from '../accounts/key-authority.ts'
import { KEY_SCOPES } from '../accounts/key-scope.ts'
import { BudgetState } from './budgets.ts'
import { CLOSED, count, line, nullable, optional, usd } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

export const LimitResetName = Type.Enum(['none', 'daily', 'weekly', 'monthly'])
export type LimitResetName = Static<typeof LimitResetName>

export const KeyView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** First 10 and last 4 characters: `sk-sy-AbCd…wXyZ`. */
  hint: Type.String(),
  /** False: the key was taken over from a former member and needs a new secret. */
  has_secret: Type.Boolean(),
  /** Until when the secret before the present one is valid too; null: it is not. */
  previous_secret_until: nullable(Type.String()),
  state: Type.Enum(['active', 'paused', 'expired', 'revoked']),
  /** Spending limit per period; null: none. */
  limit_usd: nullable(Type.String()),
  limit_reset: LimitResetName,
  /** Spent in the current period; with `limit_reset: none`, in total. */
  spent_usd: Type.String(),
  /** The rest of the limit; null without one. */
  remaining_usd: nullable(Type.String()),
  /** When the period ends; null: never. */
  resets_at: nullable(Type.String()),
  /** The limits in effect: the lower of the next two. */
  effective_requests_per_minute: Type.Number(),
  effective_concurrent_calls: Type.Number(),
  /** Set by the customer; null: the operator's. */
  customer_requests_per_minute: nullable(Type.Number()),
  customer_concurrent_calls: nullable(Type.Number()),
  /** The operator's, set for the key or the default: the maximum of the customer's. */
  operator_requests_per_minute: Type.Number(),
  operator_concurrent_calls: Type.Number(),
  paused_at: nullable(Type.String()),
  /** The authority that paused it; lower ones cannot resume it. Null: not paused, or unknown. */
  paused_by: nullable(Type.Enum([...KEY_AUTHORITIES])),
  /** Fields set by an authority above the session's, which can only be tightened. */
  bounded_by: Type.Record(Type.String(), Type.Enum([...KEY_AUTHORITIES])),
  /** Permitted models, by id or as `developer/*`, and permitted provider ids. Empty: all. */
  allowed_models: Type.Array(Type.String()),
  allowed_providers: Type.Array(Type.String()),
  /** Permissions besides calls. */
  scopes: Type.Array(Type.String()),
  /** The project whose budget bounds its calls; null: none. */
  project: nullable(Type.String()),
  /** Retention of its prompts and completions in days; null: they are not kept. */
  prompt_log_days: nullable(Type.Number()),
  /** For how long the same request is answered by the first response, unless its header says otherwise; null: it is not. */
  cache_seconds: nullable(Type.Number()),
  expires_at: nullable(Type.String()),
  created_at: Type.String(),
  revoked_at: nullable(Type.String()),
  /** Time of its latest settled call. */
  last_used_at: nullable(Type.String()),
})
export type KeyView = Static<typeof KeyView>

/** GET /console/api/keys → KeyList, newest first. */
export const KeyList = Type.Object({
  data: Type.Array(KeyView),
  /** The defaults of keys without their own limits. */
  defaults: Type.Object({
    /** Maximum for a new key. */
    requests_per_minute: Type.Number(),
    concurrent_calls: Type.Number(),
    tokens_per_minute: Type.Number(),
    /** Limit over all keys of the account. */
    account_requests_per_minute: Type.Number(),
    account_concurrent_calls: Type.Number(),
  }),
  /** The providers that a key may be limited to, by name. */
  providers: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
})
export type KeyList = Static<typeof KeyList>

export const EXPIRY_WORDING = '`expires_at` takes a time to come, such as 2027-01-31T12:00:00Z.'

const name = line('name', 0, 100)
const BOUND_FIELDS = {
  limit_usd: Type.Optional(usd('limit_usd')),
  /** Requires a limit. */
  limit_reset: optional(LimitResetName),
  expires_at: optional(Type.String({ errorMessage: EXPIRY_WORDING })),
}

const names = (maxItems: number) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: 200 }), {
      maxItems,
      errorMessage: `\`{param}\` takes up to ${maxItems} names.`,
    }),
  )
/** Empty: all. Models by their id, or all of a developer as `developer/*`; providers by their id. */
const ALLOW_LIST_FIELDS = { allowed_models: names(100), allowed_providers: names(100) }

/** Permissions besides calls, at most those of the roles of the key's creator and the requester. Absent or empty: none. */
const SCOPES_FIELD = {
  scopes: Type.Optional(
    Type.Array(Type.Enum([...KEY_SCOPES]), {
      maxItems: KEY_SCOPES.length,
      errorMessage: `\`{param}\` takes a list of ${KEY_SCOPES.join(', ')}.`,
    }),
  ),
}

const NEW_KEY_FIELDS = { name, ...BOUND_FIELDS, ...ALLOW_LIST_FIELDS }
const OPERATOR_LIMITS = { operator_requests_per_minute: count(), operator_concurrent_calls: count() }

/** POST /admin/api/accounts/:id/keys → 201 CreatedOperatorKey. */
export const NewCustomerKeyBody = Type.Object({ ...NEW_KEY_FIELDS, ...OPERATOR_LIMITS }, CLOSED)
export type NewCustomerKeyBody = Static<typeof NewCustomerKeyBody>

/** POST /console/api/keys → 201 CreatedKey. The limits are at most those of the gateway. */
export const newOwnKeyBody = (limits: NewKeyLimits) =>
  Type.Object(
    {
      ...NEW_KEY_FIELDS,
      customer_requests_per_minute: count(limits.requestsPerMinute),
      customer_concurrent_calls: count(limits.concurrentCalls),
      ...SCOPES_FIELD,
    },
    CLOSED,
  )
export type NewKeyBody = Static<ReturnType<typeof newOwnKeyBody>>

interface NewKeyLimits {
  requestsPerMinute: number
  concurrentCalls: number
}

/**
 * PATCH /console/api/keys/:id → 200 KeyView. Absent fields are unchanged, null removes a limit; rate limits up to the
 * operator's maximum. GET there, and POST …/pause, …/resume and …/revoke, which is final, → 200 KeyView. Applied
 * everywhere within a second.
 */
export const KeyEditBody = Type.Object(
  {
    name: Type.Optional(name),
    ...BOUND_FIELDS,
    customer_requests_per_minute: count(),
    customer_concurrent_calls: count(),
    ...ALLOW_LIST_FIELDS,
    ...SCOPES_FIELD,
    /** A project of the account; null: none. */
    project: optional(line('project', 1, 100)),
    /** 1 to 30: keeps prompts and completions of later calls. Null: keeps none. */
    prompt_log_days: count(30),
    cache_seconds: count(86_400),
  },
  CLOSED,
)
export type KeyEditBody = Static<typeof KeyEditBody>

/** DELETE /console/api/keys/:id/prompt-logs → 200 DeletedPromptLogs. */
export const DeletedPromptLogs = Type.Object({ deleted: Type.Integer() })
export type DeletedPromptLogs = Static<typeof DeletedPromptLogs>

/** POST /console/api/keys/:id/rotate-secret → 200 CreatedKey. The body may be absent. */
export const RotateSecretBody = Type.Object(
  {
    /** How long the former secret stays valid, up to seven days. */
    grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800, default: 0 })),
  },
  CLOSED,
)

export const CreatedKey = Type.Object({
  /** The secret, returned only once. */
  secret: Type.String(),
  key: KeyView,
})
export type CreatedKey = Static<typeof CreatedKey>

export const OperatorKey = Type.Object({
  id: Type.String(),
  account_id: nullable(Type.String()),
  kind: Type.Enum(['standard', 'admin']),
  name: Type.String(),
  state: Type.Enum(['active', 'revoked']),
  /** First and last characters of the secret. */
  hint: Type.String(),
  limit_usd: nullable(DecimalUsd),
  limit_reset: LimitResetName,
  /** Set by an operator; null: the default. */
  operator_requests_per_minute: nullable(Type.Number()),
  operator_concurrent_calls: nullable(Type.Number()),
  /** Set by the customer; lowers the two above. */
  customer_requests_per_minute: nullable(Type.Number()),
  customer_concurrent_calls: nullable(Type.Number()),
  expires_at: nullable(IsoTime),
  /** Permissions besides calls. */
  scopes: Type.Array(Type.String()),
  created_at: IsoTime,
  paused_at: nullable(IsoTime),
  /** The authority that paused it; lower ones cannot resume it. */
  paused_by: nullable(Type.Enum([...KEY_AUTHORITIES])),
  revoked_at: nullable(IsoTime),
})
export type OperatorKey = Static<typeof OperatorKey>

/** POST /admin/api/accounts/:id/keys → 201: the only response with the secret. */
export const CreatedOperatorKey = Type.Object({ secret: Type.String(), key: OperatorKey })
export type CreatedOperatorKey = Static<typeof CreatedOperatorKey>

/**
 * POST /admin/api/keys/:id/revoke, …/pause and …/resume (no body) and /admin/api/keys/:id/limits. Response:
 * `OperatorKey`. Absent fields are unchanged; null removes a limit.
 */
export const KeyLimitsRequest = Type.Object(
  {
    ...BOUND_FIELDS,
    ...OPERATOR_LIMITS,
    name: Type.Optional(name),
  },
  CLOSED,
)
export type KeyLimitsRequest = Static<typeof KeyLimitsRequest>

/** GET /v1/key. */
export const KeyInfo = Type.Object({
  id: Type.String(),
  object: Type.Literal('key'),
  name: Type.String(),
  limit_usd: nullable(DecimalUsd),
  used_usd: nullable(DecimalUsd),
  remaining_usd: nullable(DecimalUsd),
  available_balance_usd: nullable(DecimalUsd),
  limit_reset: LimitResetName,
  resets_at: nullable(IsoTime),
  /** The budget of the member who created the key; null: none. */
  member_budget: nullable(BudgetState),
  /** The cap of the account; null: none. */
  spend_cap: nullable(BudgetState),
  expires_at: nullable(IsoTime),
  /** Ids of models, or `developer/*`; null: all. */
  allowed_models: Type.Union([Type.Array(Type.String()), Type.Null()]),
  allowed_providers: Type.Union([Type.Array(Type.String()), Type.Null()]),
  /** Permissions besides calls. */
  scopes: Type.Array(Type.Enum([...KEY_SCOPES])),
  rate_limits: KeyList.properties.defaults,
})

/** GET /v2/key: `data` is what the libraries of other routers read, with amounts in USD as numbers. */
export const ExtendedKeyInfo = Type.Object({
  ...KeyInfo.properties,
  data: Type.Object({
    label: Type.String(),
    limit: nullable(Type.Number()),
    limit_remaining: nullable(Type.Number()),
    limit_reset: nullable(Type.String()),
    usage: Type.Number(),
    usage_daily: Type.Number(),
    usage_weekly: Type.Number(),
    usage_monthly: Type.Number(),
    byok_usage: Type.Literal(0),
    byok_usage_daily: Type.Literal(0),
    byok_usage_weekly: Type.Literal(0),
    byok_usage_monthly: Type.Literal(0),
    include_byok_in_limit: Type.Literal(true),
    is_free_tier: Type.Literal(false),
    is_management_key: Type.Boolean(),
    is_provisioning_key: Type.Literal(false),
    expires_at: nullable(IsoTime),
    free_model_daily_requests: Type.Record(Type.String(), Type.Literal(0)),
    allowed_data_regions: Type.Array(Type.String(), { maxItems: 0 }),
    creator_user_id: Type.Null(),
    organization_id: Type.Null(),
    workspace_id: Type.Null(),
    rate_limit: Type.Object({ requests: Type.Integer(), interval: Type.String(), note: Type.String() }),
  }),
})
export type ExtendedKeyInfo = Static<typeof ExtendedKeyInfo>
