/**
 * The JSON of the console's routes under /console/api, for the routes that answer it and the pages that read it.
 * Amounts and rates are exact decimal strings of USD (rates: USD per million tokens), times ISO 8601 in UTC,
 * durations whole milliseconds. Every answer of 400 and above is an ErrorBody. Session and CSRF rules:
 * docs/console.md. Requests that change something are JSON, same-origin, and carry the session cookie.
 */

import type { FreeCreditState } from '../billing/free-credit-state.ts'
import type { OwnKeyFailure, ProviderKeyStatus } from '../routing/own-key-state.ts'

/** The error body of every route of the gateway. */
export interface ErrorBody {
  error: {
    message: string
    type: string
    /** The offending field, or null: show the message beside it. */
    param: string | null
    code: string
    request_id: string
    metadata?: Record<string, string | number>
  }
}

/** Pages of a list: ask again with `cursor=<next_cursor>`; null at the end. */
export interface Page<T> {
  data: T[]
  next_cursor: string | null
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * POST /console/api/sign-up → 201 SessionView, or 409 `email_taken`. POST /console/api/sign-in → 200 SessionView,
 * 401 `invalid_credentials`, or 429 with `Retry-After` after too many attempts.
 */
export interface CredentialsBody {
  email: string
  /** 10 to 256 characters for a new one. */
  password: string
}

/** GET /console/api/session → 200, or 401 `not_signed_in`. POST /console/api/sign-out → 204, always. */
export interface SessionView {
  account: AccountView
  balance: BalanceView
}

/** GET /console/api/visitor → 200, always: who is signed in, or null. */
export interface VisitorView {
  session: SessionView | null
}

export interface AccountView {
  id: string
  email: string
  /** A suspended account has no session: sign-in answers 403 `account_suspended`, and its sessions are over (401). */
  state: 'free_credit' | 'active' | 'exhausted'
  /** The credit this account started with; null when it started with none. */
  free_credit_usd: string | null
  /** What became of the free credit of an account that signed up; null where none was on offer. */
  free_credit: FreeCreditState | null
  created_at: string
}

export interface BalanceView {
  /** What the ledger says. */
  balance_usd: string
  /** What may be spent now: the balance less what running calls hold. */
  available_usd: string
  held_usd: string
  /** Owed for money that was taken back; 0.00 as a rule. */
  owed_usd: string
  /** At or below it the account is told `balance.low`; null: never. */
  low_balance_usd: string | null
}

/**
 * POST /console/api/verify → 200 VerifiedView, without a session; 400 for a link that was used or has expired.
 * POST /console/api/verification-mails → 204, 409 where nothing waits for it, 429 after too many.
 */
export interface VerifyBody {
  token: string
}

export interface VerifiedView {
  free_credit: FreeCreditState
}

/** POST /console/api/password → 204. Ends every other session of the account. */
export interface PasswordBody {
  current_password: string
  new_password: string
}

/** PATCH /console/api/account → 200 SessionView. */
export interface AccountPatch {
  /** Null: never. */
  low_balance_usd: string | null
}

// ── API keys ────────────────────────────────────────────────────────────────────────────────────────────────

export type LimitResetName = 'none' | 'daily' | 'weekly' | 'monthly'

/** GET /console/api/keys → KeyList, newest first. */
export interface KeyList {
  data: KeyView[]
  /** What keys without limits of their own get. */
  defaults: {
    /** A new key may ask for less, not for more. */
    requests_per_minute: number
    concurrent_calls: number
    tokens_per_minute: number
    /** Of all keys of the account together. */
    account_requests_per_minute: number
    account_concurrent_calls: number
  }
}

export interface KeyView {
  id: string
  name: string
  /** First 10 and last 4 characters: `sk-sy-AbCd…wXyZ`. */
  hint: string
  state: 'active' | 'revoked' | 'expired'
  /** Spending limit per period; null: none. */
  limit_usd: string | null
  limit_reset: LimitResetName
  /** Spent in the running period; with `limit_reset: none` since ever. */
  spent_usd: string
  /** What is left of the limit; null without one. */
  remaining_usd: string | null
  /** When the period ends; null: never. */
  resets_at: string | null
  /** As they hold, by default or set. */
  requests_per_minute: number
  concurrent_calls: number
  expires_at: string | null
  created_at: string
  revoked_at: string | null
  /** Of its latest settled call. */
  last_used_at: string | null
}

/** POST /console/api/keys → 201 CreatedKey. */
export interface NewKeyBody {
  /** At most 100 characters. */
  name: string
  limit_usd?: string | null
  /** Only with a limit. */
  limit_reset?: LimitResetName
  expires_at?: string | null
  /** At most the default. */
  requests_per_minute?: number | null
  concurrent_calls?: number | null
}

/** POST /console/api/keys/:id/revoke → 200 KeyView. Works everywhere within a second, for good. */
export interface CreatedKey {
  /** The secret: here and never again. */
  secret: string
  key: KeyView
}

// ── Billing ─────────────────────────────────────────────────────────────────────────────────────────────────

export type RailName = 'card' | 'paypal' | 'development'

/** GET /console/api/billing */
export interface BillingView extends BalanceView {
  presets_usd: string[]
  min_usd: string
  max_usd: string
  /** The ways to pay that are set up; empty: top-ups are closed. `development` moves no money: say so. */
  rails: RailName[]
}

/** POST /console/api/top-ups → 201 TopUpView. Navigate to `checkout_url`; where it is null, it is settled already. */
export interface NewTopUpBody {
  /** Whole cents, within min and max: "25.00". */
  amount_usd: string
  rail: RailName
}

/** GET /console/api/top-ups?cursor&limit → Page<TopUpView>, newest first; GET /console/api/top-ups/:id → TopUpView. */
export interface TopUpView {
  id: string
  rail: RailName
  /** No money moves. */
  test: boolean
  state: 'created' | 'pending' | 'settled' | 'failed' | 'expired' | 'refunded' | 'disputed'
  amount_usd: string
  refunded_usd: string
  disputed_usd: string
  /** Where to pay; null when there is nothing to pay any more. */
  checkout_url: string | null
  failure_reason: string | null
  created_at: string
  settled_at: string | null
  /** Present once the money came in. */
  receipt: ReceiptView | null
}

export interface ReceiptView {
  /** The top-up's id. */
  number: string
  issued_at: string
  email: string
  description: string
  paid_usd: string
  refunded_usd: string
  net_usd: string
  method: RailName
}

/**
 * GET /console/api/ledger?cursor&limit → Page<LedgerRow>: every movement of the balance, newest first; the charges
 * of a day (UTC) are one row. The sum of all rows is `balance_usd`.
 */
export interface LedgerRow {
  /** Unique in the list. */
  id: string
  kind:
    | 'charges'
    | 'free_credit'
    | 'credit'
    | 'adjustment'
    | 'topup'
    | 'refund'
    | 'refund_reversal'
    | 'dispute'
    | 'dispute_won'
    | 'dispute_lost'
    | 'collection'
  /** Signed as it changed the balance: charges are negative. */
  amount_usd: string
  /** Of `charges`: the end of the day, or the latest charge of a day that runs. */
  at: string
  /** The day of `charges`, `2027-01-31`; else null. */
  day: string | null
  /** How many calls `charges` sums; else null. */
  calls: number | null
  /** The top-up it belongs to, for its receipt; else null. */
  top_up_id: string | null
  /** What the operator wrote to it; else null. */
  note: string | null
}

// ── Usage ───────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * GET /console/api/usage?from&to&group_by=day|model|key → UsageView. `from` and `to` take a date (midnight UTC) or
 * an ISO time; the default is the last 30 days. Days without calls are left out.
 */
export interface UsageView {
  from: string
  to: string
  group_by: 'day' | 'model' | 'key'
  data: UsageRowView[]
  total: UsageSumsView
}

export interface UsageSumsView {
  calls: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  cost_usd: string
}

export interface UsageRowView extends UsageSumsView {
  /** Group `day`: `2027-01-31`. */
  day?: string
  model?: string
  key_id?: string
  key_name?: string | null
}

/**
 * GET /console/api/calls?from&to&model&key_id&status&cursor&limit → Page<CallSummary>, newest first. The same
 * filters at GET /console/api/calls.csv, a download of all of them. `model` is the name as the answer had it.
 */
export interface CallSummary {
  id: string
  created_at: string
  model: string
  key_id: string
  status: 'completed' | 'failed' | 'cancelled' | 'interrupted'
  error_code: string | null
  stream: boolean
  byok: boolean
  prompt_tokens: number
  completion_tokens: number
  cost_usd: string
  first_token_ms: number | null
  duration_ms: number
}

/** GET /console/api/calls/:id. 404 with `Retry-After: 1` while the call is not settled yet: ask again. */
export interface CallDetail extends CallSummary {
  request_id: string
  finish_reason: string | null
  /** The answer broke off, and another attempt finished it without a seam. */
  rescued: boolean
  /** `counted`: the upstream told none, and the text was counted. */
  usage_source: 'upstream' | 'counted' | 'estimated' | 'none'
  /** Null when nothing was delivered, and for `auto`, whose target is not told. */
  rates: {
    prompt: string
    completion: string
    /** Of audio and images in the prompt; absent: as `prompt`. */
    prompt_audio?: string
    prompt_image?: string
    unit: 'usd_per_million_tokens'
    version: string | null
  } | null
  /** Of the prompt tokens. */
  audio_tokens: number
  image_tokens: number
  queued_ms: number | null
  finished_at: string
  settled_at: string
  /** Of the account's own provider keys that were tried for this call: those that did not work, in order. */
  provider_key_failures: OwnKeyFailureView[]
}

export interface OwnKeyFailureView {
  /** Null for `auto`, whose target is not told. */
  provider_key_id: string | null
  reason: OwnKeyFailure
  http_status: number | null
}

// ── Provider keys (BYOK) ────────────────────────────────────────────────────────────────────────────────────

/** GET /console/api/provider-keys */
export interface ProviderKeyList {
  data: ProviderKeyView[]
  /** The providers a key can be stored for, by name. */
  providers: Array<{ id: string; name: string }>
  /** The routing fee on calls with an own key, percent of the listed cost: "5". */
  fee_percent: string
}

export interface ProviderKeyView {
  id: string
  provider: string
  provider_name: string
  name: string
  last4: string
  /** Whether calls go on to shared capacity (at listed rates) when this key fails. */
  allow_fallback: boolean
  /** `unchecked`: it is not known whether its provider takes it. `refused`: the last time it did not. */
  status: ProviderKeyStatus
  /** What the provider last refused this key with, in our words; null while it works. */
  last_error: string | null
  last_error_at: string | null
  created_at: string
}

/** POST /console/api/provider-keys → 201 ProviderKeyView. The key is never shown again. */
export interface NewProviderKeyBody {
  provider: string
  key: string
  name?: string
  allow_fallback?: boolean
}

/** PATCH /console/api/provider-keys/:id → 200 ProviderKeyView. DELETE /console/api/provider-keys/:id → 204. */
export interface ProviderKeyPatch {
  name?: string
  allow_fallback?: boolean
  disabled?: boolean
}

// ── Webhooks ────────────────────────────────────────────────────────────────────────────────────────────────

/** GET /console/api/webhooks */
export interface WebhookList {
  data: WebhookView[]
  /** Every type an endpoint can ask for. */
  event_types: string[]
  max: number
}

export interface WebhookView {
  id: string
  url: string
  /** Empty: every type. */
  event_types: string[]
  enabled: boolean
  disabled_reason: string | null
  failing_since: string | null
  created_at: string
}

/** POST /console/api/webhooks → 201 CreatedWebhook; DELETE /console/api/webhooks/:id → 204. */
export interface NewWebhookBody {
  url: string
  event_types?: string[]
}

/** The signing secret: here and never again. */
export interface CreatedWebhook {
  secret: string
  webhook: WebhookView
}

/** POST /console/api/webhooks/:id/rotate-secret → 200. */
export interface RotatedSecret {
  secret: string
  old_secret_signs_until: string
}

/**
 * POST /console/api/webhooks/:id/enable → 200 WebhookView; POST /console/api/webhooks/:id/test → 202
 * `{event_id}`: look at its delivery. GET /console/api/webhooks/:id/deliveries → {data: DeliveryView[]}, newest
 * first, the latest 50.
 */
export interface DeliveryView {
  id: string
  event_id: string
  type: string
  state: 'pending' | 'delivered' | 'failed'
  attempts: Array<{ at: string; status_code: number | null; error: string | null; duration_ms: number }>
  next_attempt_at: string | null
  created_at: string
}

/** POST /console/api/webhooks/:id/test → 202; POST /console/api/webhook-deliveries/:id/retry → 202 DeliveryView. */
export interface TestedWebhook {
  event_id: string
}

// ── Playground ──────────────────────────────────────────────────────────────────────────────────────────────

/**
 * POST /console/api/playground: a chat-completions body with `key_id` beside its fields; the answer is that of
 * POST /v1/chat/completions with that key, streamed as the same events. The `id` of its chunks (and the header
 * `x-call-id`) is the call's: GET /console/api/calls/:id has its tokens and cost. Abort the request to stop it.
 */
export interface PlaygroundBody {
  key_id: string
  model: string
  messages: Array<{ role: 'system' | 'user' | 'assistant'; content: string }>
  stream?: boolean
  max_tokens?: number
  temperature?: number
  [field: string]: unknown
}

// ── Live ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * GET /console/api/live: an EventSource. `event: balance` with LiveBalance: at once, then whenever it changes;
 * `event: call` with CallSummary: a call of the account that settled, within about a second; `event: bye` with
 * `{reason}` when the session has ended: do not reconnect. Connections end after some minutes; the browser
 * reconnects by itself. At most 6 an account (429).
 */
export interface LiveBalance {
  balance_usd: string
  available_usd: string
  held_usd: string
  state: AccountView['state']
}

export interface LiveBye {
  reason: 'signed_out'
}

// ── Operator's session ──────────────────────────────────────────────────────────────────────────────────────

/** POST /admin/api/session → 201 OperatorSession; GET → 200 or 401; DELETE → 204. Cookie of its own, 12 hours. */
export interface OperatorSignInBody {
  admin_key: string
}

export interface OperatorSession {
  key_id: string
  key_name: string
  hint: string
  expires_at: string
}

/** GET /admin/api/visitor → 200, always: which operator is signed in, or null. */
export interface OperatorVisitor {
  session: OperatorSession | null
}
