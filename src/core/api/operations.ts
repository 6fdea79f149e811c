import { type Static, Type } from 'typebox'
import { Severity } from './alarm-destinations.ts'
import { CALL_STATUSES } from './calls.ts'
import { nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** GET /admin/api/processes: `List<ProcessView>`. A process without a report for 5 s is not listed. */
export const ProcessView = Type.Object({
  id: Type.String(),
  role: Type.Enum(['api', 'dispatch', 'settlement']),
  host: Type.String(),
  pid: Type.Number(),
  version: Type.String(),
  started_at: IsoTime,
  reported_at: IsoTime,
  /** Calls that an API instance waits for, or that a worker runs. */
  in_flight_calls: Type.Number(),
  /** Maximum concurrent calls: a worker's concurrency or an API instance's limit. Null: none. */
  concurrency: nullable(Type.Number()),
  /** Finished since the start: calls by status (dispatch), requests by status class (api), settled calls (settlement). */
  finished: Type.Record(Type.String(), Type.Number()),
  event_loop_delay_p99_ms: Type.Number(),
  rss_bytes: Type.Number(),
  last_error: nullable(
    Type.Object({
      at: IsoTime,
      message: Type.String(),
    }),
  ),
})
export type ProcessView = Static<typeof ProcessView>

export const ClaimWaitView = Type.Object({
  /** Length of the measured period. */
  window_ms: Type.Number(),
  /** Measured calls; if there are very many, the latest. */
  calls: Type.Number(),
  p50_ms: nullable(Type.Number()),
  p95_ms: nullable(Type.Number()),
  p99_ms: nullable(Type.Number()),
  max_ms: nullable(Type.Number()),
})
export type ClaimWaitView = Static<typeof ClaimWaitView>

export const QueueView = Type.Object({
  name: Type.Enum(['dispatch', 'settlement', 'events', 'catalog', 'mail']),
  /** The shard of its calls. Those of the fleet (events, catalog, mail) are with shard 0. */
  shard: Type.Number(),
  waiting: Type.Number(),
  active: Type.Number(),
  delayed: Type.Number(),
  failed: Type.Number(),
  /** Age of the oldest waiting job; null if none waits. */
  oldest_waiting_ms: nullable(Type.Number()),
})
export type QueueView = Static<typeof QueueView>

/** GET /admin/api/queues. */
export const QueuesView = Type.Object({
  object: Type.Literal('queues'),
  at: IsoTime,
  data: Type.Array(QueueView),
  /** The shards whose queues are not in `data`, since Redis did not respond. */
  shards_away: Type.Array(Type.Number()),
  /** Wait for a worker, of settled calls admitted in the last minutes. */
  claim_wait: ClaimWaitView,
  /** The oldest finished call waits for its charge longer than it should. */
  settlement_behind: Type.Boolean(),
})
export type QueuesView = Static<typeof QueuesView>

export const TrafficMetrics = Type.Object({
  /** Requests for completions by status class of the response (`2xx`, …), all API instances. */
  requests: Type.Record(Type.String(), Type.Number()),
  /** Errors sent to clients, by code, including those that ended a stream. */
  errors: Type.Record(Type.String(), Type.Number()),
  /** Ended calls by status, all dispatch workers. */
  calls: Type.Partial(Type.Record(Type.Enum([...CALL_STATUSES]), Type.Number())),
  prompt_tokens: Type.Number(),
  completion_tokens: Type.Number(),
  /** Charges of ended calls. */
  spend_usd: DecimalUsd,
  /** 5xx among requests, 0 to 1; null without requests. */
  server_error_rate: nullable(Type.Number()),
})
export type TrafficMetrics = Static<typeof TrafficMetrics>

const TrafficPoint = Type.Object({ ...TrafficMetrics.properties, at: IsoTime })

/** GET /admin/api/traffic?minutes=1..60&step=10|60 (seconds). */
export const TrafficView = Type.Object({
  object: Type.Literal('traffic'),
  from: IsoTime,
  to: IsoTime,
  step_seconds: Type.Number(),
  /** Oldest first, one for each step, including empty ones. */
  data: Type.Array(TrafficPoint),
  total: TrafficMetrics,
})
export type TrafficView = Static<typeof TrafficView>

/**
 * GET /admin/api/actions?target&limit&cursor: `Page<OperatorActionView>`. `target` is an id; a person's
 * account also goes by its email.
 */
export const OperatorActionView = Type.Object({
  id: Type.String(),
  at: IsoTime,
  /** The id of an admin key, or of an operator after single sign-on; `cli:` and a user of the operating system. */
  actor: Type.String(),
  /** The operator's name; null for commands. */
  actor_name: nullable(Type.String()),
  /** First and last characters of the admin key; null without one. */
  actor_key: nullable(Type.String()),
  /** `account.suspend`, `key.revoke`, … */
  action: Type.String(),
  /** The id of the target, and its name: of an account, a key or an operator. */
  target: Type.String(),
  target_name: nullable(Type.String()),
  /** `asked` is recorded before the action, `failed` after a rejected or failed one. */
  outcome: Type.Enum(['asked', 'failed']),
  details: Type.Record(Type.String(), Type.Unknown()),
  request_id: Type.String(),
})
export type OperatorActionView = Static<typeof OperatorActionView>

/**
 * GET /admin/api/audit/runs?limit&cursor: `Page<AuditRunView>`. POST /admin/api/audit/run?full, with `full=true` for
 * all rows, returns 202 with an `AuditView`.
 */
export const AuditRunView = Type.Object({
  id: Type.String(),
  at: IsoTime,
  duration_ms: Type.Number(),
  ok: Type.Boolean(),
  cause: Type.Enum(['schedule', 'operator']),
  /** It read all rows, or the last of them; otherwise what was written since the audit before. */
  is_full: Type.Boolean(),
  /** Counts are numbers, amounts decimal strings. */
  figures: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
  checks: Type.Array(
    Type.Object({
      name: Type.String(),
      broken: Type.Number(),
    }),
  ),
  discrepancies: Type.Array(
    Type.Object({
      check: Type.String(),
      subject: Type.String(),
      detail: Type.String(),
    }),
  ),
})
export type AuditRunView = Static<typeof AuditRunView>

/** GET /admin/api/audit/latest: the last run, and whether one is requested or running. */
export const AuditView = Type.Object({
  object: Type.Literal('audit'),
  running: Type.Boolean(),
  every_minutes: Type.Number(),
  run: nullable(AuditRunView),
})
export type AuditView = Static<typeof AuditView>

/**
 * GET /admin/api/alarms?state=open|all&account&limit&cursor: `Page<AlarmView>`. `account` is an id, an email or the name of
 * an organisation. POST /admin/api/alarms/:id/acknowledge returns
 * an `AlarmView`.
 */
export const AlarmView = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  /** The offer, account, payment or other subject; `-` if there is none. */
  subject: Type.String(),
  message: Type.String(),
  severity: Severity,
  /** The account that it is about, if any. */
  account_id: nullable(Type.String()),
  account_name: nullable(Type.String()),
  /** The event in one sentence. */
  summary: Type.String(),
  /** The operators' page of the subject, and the runbook entry of the kind: paths of the console. */
  page: Type.String(),
  runbook: Type.String(),
  first_at: IsoTime,
  last_at: IsoTime,
  count: Type.Number(),
  /** Fields of the latest occurrence. */
  fields: Type.Record(Type.String(), nullable(Type.Union([Type.String(), Type.Number(), Type.Boolean()]))),
  acknowledged_at: nullable(IsoTime),
  acknowledged_by: nullable(Type.String()),
  /** When its condition ended; null while it lasts. */
  resolved_at: nullable(IsoTime),
})
export type AlarmView = Static<typeof AlarmView>

/** GET /admin/api/alarms/count */
export const AlarmCountView = Type.Object({ object: Type.Literal('alarm_count'), open: Type.Number() })
export type AlarmCountView = Static<typeof AlarmCountView>

/** A breaker that is not closed. */
export const BreakerView = Type.Object({
  /** The id of an offer, or of a provider whose breaker disables all its offers. */
  subject: Type.String(),
  state: Type.Enum(['open', 'half-open', 'rate-limited']),
  reason: Type.String(),
  until: IsoTime,
})
export type BreakerView = Static<typeof BreakerView>

export const LiveTraffic = Type.Object({
  requests_per_second: Type.Number(),
  server_errors_per_second: Type.Number(),
  calls_per_second: Type.Number(),
  tokens_per_second: Type.Number(),
  /** Per minute, at the rate of the last 10 s. */
  spend_usd_per_minute: DecimalUsd,
})
export type LiveTraffic = Static<typeof LiveTraffic>

/** GET /admin/api/live: server-sent events, one `data:` line with this every second. Unavailable values are null. */
export const LiveView = Type.Object({
  object: Type.Literal('live'),
  at: IsoTime,
  processes: nullable(Type.Array(ProcessView)),
  queues: nullable(Type.Array(QueueView)),
  /** The shards whose queues are missing, since Redis did not respond. */
  shards_away: nullable(Type.Array(Type.Number())),
  settlement_behind: nullable(Type.Boolean()),
  /** Per second, averaged over the last 10 s. */
  traffic: nullable(LiveTraffic),
  open_alarms: nullable(Type.Number()),
  breakers: nullable(Type.Array(BreakerView)),
})
export type LiveView = Static<typeof LiveView>
