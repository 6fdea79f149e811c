import type { CallStatus } from '../calls/call-status.ts'

/**
 * The JSON of the operator's interface under /admin/api, as types for the routes and the pages. Names are
 * snake_case; amounts are decimal strings in USD, rates decimal strings in USD per million tokens; times are
 * ISO 8601 in UTC; durations end in `_ms` and are milliseconds. `null` means not known or does not apply.
 */
export type DecimalUsd = string
export type IsoTime = string

/** A page of a list, newest first; `next_cursor` goes back as `cursor`. */
export interface OperatorPage<T> {
  object: 'list'
  data: T[]
  has_more: boolean
  next_cursor: string | null
}

/** A whole list. */
export interface OperatorList<T> {
  object: 'list'
  data: T[]
}

/** GET /admin/api/processes: `OperatorList<ProcessView>`. A process that said nothing for 5 s is not in it. */
export interface ProcessView {
  id: string
  role: 'api' | 'dispatch' | 'settlement'
  host: string
  pid: number
  version: string
  started_at: IsoTime
  reported_at: IsoTime
  /** Calls waited for (api), or run (dispatch). */
  in_flight_calls: number
  /** Calls at once at the most: workers' concurrency, or an API instance's bound. Null: none. */
  concurrency: number | null
  /** Ended since the start. dispatch: calls by status; api: requests by status class. */
  finished: Record<string, number>
  event_loop_delay_p99_ms: number
  rss_bytes: number
  last_error: { at: IsoTime; message: string } | null
}

/** GET /admin/api/queues. */
export interface QueuesView {
  object: 'queues'
  at: IsoTime
  data: QueueView[]
  /** How long calls waited for a worker: those admitted in the last minutes and settled. */
  claim_wait: ClaimWaitView
  /** The oldest finished call has waited for its charge longer than it should. */
  settlement_behind: boolean
}

export interface QueueView {
  name: 'dispatch' | 'settlement' | 'events'
  waiting: number
  active: number
  delayed: number
  failed: number
  /** Age of the job that waits longest; null when none waits. */
  oldest_waiting_ms: number | null
}

export interface ClaimWaitView {
  /** The span looked at. */
  window_ms: number
  /** Calls in it; of very many, the latest. */
  calls: number
  p50_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
  max_ms: number | null
}

/** GET /admin/api/traffic?minutes=1..60&step=10|60 (seconds). */
export interface TrafficView {
  object: 'traffic'
  from: IsoTime
  to: IsoTime
  step_seconds: number
  /** Oldest first, one for each step, also where nothing happened. */
  data: TrafficPoint[]
  total: TrafficFigures
}

export interface TrafficFigures {
  /** Answered requests for completions by status class (`2xx`, …), all API instances. */
  requests: Record<string, number>
  /** Errors clients got, by code, including those that ended a stream. */
  errors: Record<string, number>
  /** Ended calls by status, all dispatch workers. */
  calls: Partial<Record<CallStatus, number>>
  prompt_tokens: number
  completion_tokens: number
  /** What ended calls cost their clients. */
  spend_usd: DecimalUsd
  /** 5xx among requests, 0 to 1; null without requests. */
  server_error_rate: number | null
}

export type TrafficPoint = TrafficFigures & { at: IsoTime }

/** GET /admin/api/calls?account&key&request&status&model&offer&min_duration_ms&from&to&limit&cursor: `OperatorPage<OperatorCall>`. Settled calls, admitted in the span; by default the last 30 days. */
export interface OperatorCall {
  id: string
  account_id: string
  key_id: string
  request_id: string
  status: CallStatus
  error_code: string | null
  finish_reason: string | null
  stream: boolean
  requested_model: string
  served_model: string | null
  served_offer: string | null
  prompt_tokens: number
  completion_tokens: number
  /** Of the prompt tokens. */
  audio_tokens: number
  image_tokens: number
  is_byok: boolean
  /** The call that its Idempotency-Key was charged for: this one costs the client nothing. */
  duplicate_of: string | null
  /** What `auto` chose by, 0 to 1 with the tier and the routing profile; null where the call named its model. */
  auto_score: number | null
  auto_tier: string | null
  auto_profile: string | null
  held_usd: DecimalUsd
  charged_usd: DecimalUsd
  /** What the provider takes from us: tokens at the cost rates of that time. */
  cost_usd: DecimalUsd
  margin_usd: DecimalUsd
  admitted_at: IsoTime
  queued_ms: number | null
  first_token_ms: number | null
  duration_ms: number
  settlement_lag_ms: number
}

/** GET /admin/api/calls/:id/timeline. */
export type CallTimelineView = SettledTimeline | InFlightTimeline

export interface SettledTimeline extends OperatorCall {
  object: 'call_timeline'
  state: 'settled'
  usage_source: string
  usage_clamped: boolean
  prompt_rate: string | null
  completion_rate: string | null
  /** Null: as the rest of the prompt. */
  prompt_audio_rate: string | null
  prompt_image_rate: string | null
  prompt_cost_rate: string | null
  completion_cost_rate: string | null
  prompt_audio_cost_rate: string | null
  prompt_image_cost_rate: string | null
  rate_version: string | null
  attempts: Array<AttemptView>
  timeline: TimelineEvent[]
}

export interface AttemptView {
  offer: string
  /** `ok`, or the failure's kind. */
  outcome: string
  http_status: number | null
  started_at: IsoTime
  first_token_ms: number | null
  duration_ms: number
  /** It finished an answer that another attempt had begun to show. */
  rescued: boolean
  /** The client's own key that was used; null where ours was. */
  provider_key_id: string | null
}

export interface TimelineEvent {
  at: IsoTime
  /** Since the call was admitted. */
  after_ms: number
  kind: 'admitted' | 'claimed' | 'attempt' | 'attempt_ended' | 'first_token' | 'finished' | 'settled'
  /** For people. */
  event: string
}

/** A call that waits, runs, or waits for its settlement. */
export interface InFlightTimeline {
  object: 'call_timeline'
  id: string
  state: 'queued' | 'running' | 'settling'
  queue: 'dispatch' | 'settlement'
  /** The rest is null while the call waits for its settlement. */
  account_id: string | null
  key_id: string | null
  request_id: string | null
  requested_model: string | null
  stream: boolean | null
  held_usd: DecimalUsd | null
  /** Where it may go, in order. */
  candidates: Array<{ offer: string; model: string }>
  claims: number
  timeline: TimelineEvent[]
}

/** GET /admin/api/accounts?search&limit&cursor: `OperatorPage<OperatorAccount>`. */
export interface OperatorAccount {
  id: string
  email: string
  state: 'free_credit' | 'active' | 'exhausted' | 'suspended'
  balance_usd: DecimalUsd
  owed_usd: DecimalUsd
  low_balance_usd: DecimalUsd | null
  /** Over all its keys, set by an operator; null: the default. */
  requests_per_minute: number | null
  concurrent_calls: number | null
  created_at: IsoTime
}

/** GET /admin/api/accounts/:id (its id or its e-mail). */
export interface OperatorAccountDetail extends OperatorAccount {
  object: 'account'
  /** What may be spent now and what calls in flight hold; null while Redis is away. */
  available_usd: DecimalUsd | null
  held_usd: DecimalUsd | null
  open_holds: number | null
  keys: OperatorKey[]
  /** The last 30 days that had calls, oldest first. */
  spend: Array<{ day: string; calls: number; total_tokens: number; cost_usd: DecimalUsd }>
  /** The latest 20. */
  top_ups: OperatorTopUp[]
  /** Suspensions by money that went back; an operator's are among the actions. */
  suspensions: Array<{
    id: string
    at: IsoTime
    payment_id: string
    reason: string
    shortfall_usd: DecimalUsd
  }>
  /** Of operators on this account, the latest 20. */
  actions: OperatorActionView[]
}

export interface OperatorKey {
  id: string
  account_id: string | null
  kind: 'standard' | 'admin'
  name: string
  state: 'active' | 'revoked'
  /** First and last characters of the secret. */
  hint: string
  limit_usd: DecimalUsd | null
  limit_reset: 'none' | 'daily' | 'weekly' | 'monthly'
  /** Set by an operator; null: the default. */
  requests_per_minute: number | null
  concurrent_calls: number | null
  /** Set by the customer: lowers the two above. */
  customer_requests_per_minute: number | null
  customer_concurrent_calls: number | null
  expires_at: IsoTime | null
  created_at: IsoTime
  revoked_at: IsoTime | null
}

export interface OperatorTopUp {
  id: string
  rail: string
  state: string
  amount_usd: DecimalUsd
  settled_usd: DecimalUsd
  created_at: IsoTime
  settled_at: IsoTime | null
}

/** POST /admin/api/accounts/:id/suspend and …/resume; answer: `OperatorAccountDetail`. */
export interface SuspendRequest {
  reason: string
}

/** POST /admin/api/accounts/:id/credit; the same reference credits once. Answer: `BalanceChanged`. */
export interface CreditRequest {
  amount_usd: DecimalUsd
  reference?: string
}

/** POST /admin/api/accounts/:id/adjust; signed. Answer: `BalanceChanged`. */
export interface AdjustRequest {
  amount_usd: DecimalUsd
  reason: string
  reference?: string
}

export interface BalanceChanged {
  object: 'balance_changed'
  account_id: string
  balance_usd: DecimalUsd
  reference: string
  /** False when the ledger had this reference before; null where that is not told apart. */
  posted: boolean | null
  /** False when Redis has yet to hear of it; maintenance brings it there. */
  spendable_now: boolean
}

/**
 * POST /admin/api/keys/:id/revoke (no body) and /admin/api/keys/:id/limits; answer: `OperatorKey`. Fields that
 * are absent stay; null lifts a limit.
 */
export interface KeyLimitsRequest {
  limit_usd?: DecimalUsd | null
  limit_reset?: OperatorKey['limit_reset']
  requests_per_minute?: number | null
  concurrent_calls?: number | null
}

/**
 * POST /admin/api/accounts/:id/limits: over all keys of the account; answer: `OperatorAccountDetail`. Fields that are
 * absent stay; null is the default.
 */
export interface AccountLimitsRequest {
  requests_per_minute?: number | null
  concurrent_calls?: number | null
}

/** GET /admin/api/actions?target&limit&cursor: `OperatorPage<OperatorActionView>`. */
export interface OperatorActionView {
  id: string
  at: IsoTime
  /** The admin key's id, or the operator's account. */
  actor: string
  /** `account.suspend`, `key.revoke`, … */
  action: string
  /** The id of what it was done to. */
  target: string
  /** `asked` is written before the deed, `failed` after one that was refused or broke. */
  outcome: 'asked' | 'failed'
  details: Record<string, unknown>
  request_id: string
}

/** GET /admin/api/ledger. */
export interface LedgerView {
  object: 'ledger'
  at: IsoTime
  /** Sums by ledger account; those of customers and receivables are taken together. They sum to zero. */
  data: Array<{ ledger_account: string; accounts: number; entries: number; balance_usd: DecimalUsd }>
  total_usd: DecimalUsd
}

/** GET /admin/api/audit/latest: the last run, and whether one is asked for or running. */
export interface AuditView {
  object: 'audit'
  running: boolean
  every_minutes: number
  run: AuditRunView | null
}

/** GET /admin/api/audit/runs?limit&cursor: `OperatorPage<AuditRunView>`. POST /admin/api/audit/run answers 202 with an `AuditView`. */
export interface AuditRunView {
  id: string
  at: IsoTime
  duration_ms: number
  ok: boolean
  cause: 'schedule' | 'operator'
  /** Counts are numbers, amounts decimal strings. */
  figures: Record<string, string | number>
  checks: Array<{ name: string; broken: number }>
  discrepancies: Array<{ check: string; subject: string; detail: string }>
}

/** GET /admin/api/alarms?state=open|all&limit&cursor: `OperatorPage<AlarmView>`. POST /admin/api/alarms/:id/acknowledge answers an `AlarmView`. */
export interface AlarmView {
  id: string
  kind: string
  /** What it is about: an offer, an account, a payment…; `-` where there is no such thing. */
  subject: string
  message: string
  first_at: IsoTime
  last_at: IsoTime
  count: number
  /** Of the last time. */
  fields: Record<string, string | number | boolean | null>
  acknowledged_at: IsoTime | null
  acknowledged_by: string | null
}

/** GET /admin/api/margin?from&to&group_by=model|provider|day. */
export interface MarginView {
  object: 'margin'
  from: IsoTime
  to: IsoTime
  group_by: 'model' | 'provider' | 'day'
  /** The greatest revenue first, or by day. */
  data: Array<MarginFigures & { group: string }>
  total: MarginFigures
}

export interface MarginFigures {
  calls: number
  prompt_tokens: number
  completion_tokens: number
  revenue_usd: DecimalUsd
  /** Of what served calls. */
  cost_usd: DecimalUsd
  /** Of attempts that served none: failed, rescued or cancelled. */
  broken_cost_usd: DecimalUsd
  /** Revenue less both costs. */
  margin_usd: DecimalUsd
  /** Margin over revenue, 0 to 1; null without revenue. */
  margin_rate: number | null
}

/** GET /admin/api/live: server-sent events, one `data:` line with this a second. What cannot be read is null. */
export interface LiveView {
  object: 'live'
  at: IsoTime
  processes: ProcessView[] | null
  queues: QueueView[] | null
  settlement_behind: boolean | null
  /** A second on the average over the last 10 s. */
  traffic: LiveTraffic | null
  open_alarms: number | null
  breakers: BreakerView[] | null
}

export interface LiveTraffic {
  requests_per_second: number
  server_errors_per_second: number
  calls_per_second: number
  tokens_per_second: number
  /** A minute, at the rate of the last 10 s. */
  spend_usd_per_minute: DecimalUsd
}

/** A breaker that is not closed. */
export interface BreakerView {
  /** The id of an offer, or of a provider whose breaker takes all its offers down. */
  subject: string
  state: 'open' | 'half-open' | 'rate-limited'
  reason: string
  until: IsoTime
}

/** GET /admin/api/catalog. */
export interface CatalogView {
  object: 'catalog'
  version: string
  generated_at: IsoTime
  models: number
  /** Those that some provider serves here. */
  available_models: number
  offers: number
  /** The operator's edits that hold; null before the first. */
  edits: CatalogEditsView | null
}

/** One version of the operator's edits. GET /admin/api/catalog/edits?limit: `OperatorList<CatalogEditsView>`, newest first. */
export interface CatalogEditsView {
  version: string
  author: string
  created_at: IsoTime
  /** A catalog document; docs/catalog-file.schema.json is its schema. */
  content: Record<string, unknown>
}

/**
 * POST /admin/api/catalog/check: what a document would make of the catalog. Answer: `CatalogCheckView`.
 * POST /admin/api/catalog/edits: makes it hold. Answer: `CatalogEditsApplied`; 400 with the problems in its message;
 * 409 `conflict` when other edits were applied since `expected_version` (null: before any; absent: whatever was).
 */
export interface CatalogEditsRequest {
  content: Record<string, unknown>
  expected_version?: string | null
}

/** POST /admin/api/catalog/revert: makes an earlier version hold again, as a new one. Answer: `CatalogEditsApplied`. */
export interface CatalogRevertRequest {
  version: string
}

export interface CatalogCheckView {
  object: 'catalog_check'
  valid: boolean
  problems: string[]
  /** Models the catalog would have; null with problems. */
  models: number | null
}

export interface CatalogEditsApplied {
  object: 'catalog_edits'
  edits: CatalogEditsView
  /** False when other processes have yet to hear of it; they will. */
  announced: boolean
}

/** GET /admin/api/models/:id/history?limit (id percent-encoded): `OperatorList<RateHistoryView>`, newest first. */
export interface RateHistoryView {
  rate_version: string
  prompt: string
  completion: string
  list_prompt: string
  list_completion: string
  /** Of audio and images in the prompt; null: as the rest of it. */
  prompt_audio: string | null
  prompt_image: string | null
  list_prompt_audio: string | null
  list_prompt_image: string | null
  /** The version of the catalog in which it was first seen. */
  source: string
  effective_at: IsoTime
}
