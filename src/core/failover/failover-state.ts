import type { AttemptFailure } from './attempt-failure.ts'

/** Whether an offer may be tried now. */
export type RouteHealth =
  | { kind: 'ready' }
  /** Its breaker is half-open: one call in the fleet may probe it. */
  | { kind: 'probe' }
  /** Unix milliseconds. */
  | { kind: 'rate-limited'; untilMs: number }
  | { kind: 'down'; untilMs: number }
  /** No longer in the catalog. */
  | { kind: 'gone' }

/** One candidate of the plan as the decision sees it. */
export interface Route {
  modelId: string
  /** Tokens. */
  contextLength: number
  health: RouteHealth
  /** The client's own key that this route uses; absent where it uses ours. */
  providerKeyId?: string | undefined
}

export interface PastAttempt {
  routeIndex: number
  failure: AttemptFailure
  /** Unix milliseconds. */
  endedAt: number
}

/** What the client already has of a streamed answer. */
export type Relayed =
  | { kind: 'nothing' }
  /** Only text, so an attempt that says the same may take over. `routeIndex` is where it came from. */
  | { kind: 'text'; routeIndex: number }
  /** Tool calls or a refusal: nothing can be compared with them. */
  | { kind: 'more' }

/** How far a call came, and where it may still go. */
export interface FailoverState {
  /** In the order of the plan; the offers of one model follow each other. */
  routes: readonly Route[]
  attempts: readonly PastAttempt[]
  relayed: Relayed
  maxAttempts: number
  /** How long the call has waited between attempts, ms. */
  waitedMs: number
  /** Unix milliseconds. */
  nowMs: number
  deadlineMs: number
  /** Uniform in [0, 1). */
  random: () => number
}

export const isReady = ({ health }: Route): boolean => health.kind === 'ready' || health.kind === 'probe'

export const isFresh = ({ attempts }: FailoverState, index: number): boolean =>
  attempts.every(({ routeIndex }) => routeIndex !== index)

/**
 * Whether a provider has taken the request of this call for a good one, if it did not finish its answer. A 400 of
 * another is then not the client's fault.
 */
export const wasAccepted = (attempts: readonly Pick<PastAttempt, 'failure'>[]): boolean =>
  attempts.some(({ failure: { kind } }) => ANSWERING.has(kind))

const ANSWERING: ReadonlySet<AttemptFailure['kind']> = new Set([
  'stalled',
  'broken-stream',
  'empty-answer',
  'rescue-mismatch',
])

/** The longest backoff, and the longest wait for a route while another model could be asked. */
const SHORT_WAIT_MS = 2_500
/** The longest that a call waits for routes that said when they are back, all its waits together. */
const LONG_WAIT_MS = 10_000
const BACKOFF_BASE_MS = 400
const WAIT_JITTER_MAX_MS = 1_000

/** Whether a route is still in question, now or after a wait. */
export function mayTry(state: FailoverState, index: number): boolean {
  const route = state.routes[index]!
  if (route.health.kind === 'gone' || route.health.kind === 'down') return false
  if (!mayTakeOver(state, route)) return false
  let countedFailures = 0
  for (const { routeIndex, failure } of state.attempts) {
    const failed = state.routes[routeIndex]!
    if (failure.kind === 'context-length') {
      if (route.modelId === failed.modelId || route.contextLength <= failed.contextLength) return false
    }
    if (routeIndex !== index) continue
    if (!mayRepeat(failure)) return false
    // A Retry-After that was honoured is an appointment, not the one retry; a prefill is not asked for twice.
    if (!isAppointment(failure) && failure.kind !== 'prefill-refused') countedFailures++
  }
  return countedFailures <= 1
}

/**
 * Whether a route may finish what another has begun to show. The price is that of the model it began with, so a route
 * of another model has to be paid for by the same party: the client with its own key, or we.
 */
function mayTakeOver({ relayed, routes }: FailoverState, { modelId, providerKeyId }: Route): boolean {
  if (relayed.kind === 'nothing') return true
  if (relayed.kind === 'more') return false
  const began = routes[relayed.routeIndex]!
  return modelId === began.modelId || (providerKeyId === undefined) === (began.providerKeyId === undefined)
}

/** Whether the same route may be tried again after this failure. */
function mayRepeat(failure: AttemptFailure): boolean {
  switch (failure.kind) {
    case 'connect':
    case 'reset':
    case 'rate-limited':
    case 'server-error':
    case 'broken-stream':
    case 'unreadable':
    case 'prefill-refused':
      return true
    // A silent route is never asked twice: the second wait would cost the caller as much as the first.
    case 'silent':
    case 'stalled':
    case 'refused':
    case 'key-unavailable':
    case 'context-length':
    case 'content-policy':
    case 'bad-request':
    case 'call-timeout':
    case 'rescue-mismatch':
    // Another of the same would cost its tokens again.
    case 'empty-answer':
      return false
    default:
      return failure.kind satisfies never
  }
}

/** Whether a route of a model is worth a short wait before the model is left: it is back soon, or what failed passes. */
export function isWorthAsking(state: FailoverState, index: number): boolean {
  const backAt = backAtMs(state, index)
  if (backAt !== null) return backAt - state.nowMs <= SHORT_WAIT_MS
  const kind = state.attempts.findLast(({ routeIndex }) => routeIndex === index)?.failure.kind
  return kind === 'rate-limited' || kind === 'server-error' || kind === 'reset' || kind === 'broken-stream'
}

/** How long until a route may be tried, in ms; null where that is longer than a call waits. */
export function waitFor(state: FailoverState, index: number): number | null {
  const backAt = backAtMs(state, index)
  if (backAt === null) {
    const ceiling = Math.min(SHORT_WAIT_MS, BACKOFF_BASE_MS * 2 ** (state.attempts.length - 1))
    return Math.floor(state.random() * ceiling)
  }
  const waitMs = Math.max(0, backAt - state.nowMs)
  const leftMs = Math.max(0, LONG_WAIT_MS - state.waitedMs)
  if (waitMs > leftMs) return null
  // Callers that were turned away together should not come back together.
  const jitterMs = state.random() * Math.min(WAIT_JITTER_MAX_MS, waitMs / 10)
  return Math.min(leftMs, Math.ceil(waitMs + jitterMs))
}

/** When a route said that it is back, Unix milliseconds; null where it said nothing. */
export function backAtMs({ routes, attempts }: FailoverState, index: number): number | null {
  const { health } = routes[index]!
  const last = attempts.findLast(({ routeIndex }) => routeIndex === index)
  const times = [
    ...(health.kind === 'rate-limited' ? [health.untilMs] : []),
    ...(last && last.failure.retryAfterMs !== null ? [last.endedAt + last.failure.retryAfterMs] : []),
  ]
  return times.length === 0 ? null : Math.max(...times)
}

const isAppointment = ({ kind, retryAfterMs }: AttemptFailure): boolean =>
  kind === 'rate-limited' && retryAfterMs !== null
