import type { AttemptFailure } from './attempt-failure.ts'
import { type CallProgress, giveUpError } from './failover-errors.ts'
import type { FrameError } from './frames.ts'

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
  /** Only text, so an attempt that says the same may take over. */
  | { kind: 'text'; modelId: string }
  /** Tool calls or a refusal: nothing can be compared with them. */
  | { kind: 'more' }

export interface FailoverState {
  routes: readonly Route[]
  attempts: readonly PastAttempt[]
  relayed: Relayed
  maxAttempts: number
  /** Unix milliseconds. */
  nowMs: number
  deadlineMs: number
  /** Uniform in [0, 1). */
  random: () => number
}

export type NextStep =
  /** `lastChance`: no other route would be left, so this one is given more patience. */
  | { kind: 'try'; routeIndex: number; afterMs: number; lastChance: boolean }
  | { kind: 'give-up'; error: FrameError }

const BACKOFF_BASE_MS = 400
const BACKOFF_MAX_MS = 5_000
const WAIT_JITTER_MAX_MS = 1_000

/**
 * What to do next: before the first attempt, and after each that failed. Implements the contract's table
 * "what the provider does, and what we do". Routes keep the plan's order; a route that was not tried comes
 * at once, then the shortest wait for a route that deserves another try.
 */
export function nextStep(state: FailoverState): NextStep {
  const giveUp = (): NextStep => ({ kind: 'give-up', error: giveUpError(progressOf(state)) })
  if (isFinal(state) || state.attempts.length >= state.maxAttempts) return giveUp()
  if (state.nowMs >= state.deadlineMs) return giveUp()

  const open = state.routes.flatMap((route, index) => (mayTry(state, route, index) ? [index] : []))
  const fresh = open.filter((index) => isFresh(state, index) && isReady(state.routes[index]!))
  const next = firstOf(fresh, state)
  if (next !== undefined) {
    const lastChance = fresh.length === 1 || state.attempts.length + 1 >= state.maxAttempts
    return { kind: 'try', routeIndex: next, afterMs: 0, lastChance }
  }
  const soonest = open
    .map((routeIndex) => ({ routeIndex, afterMs: waitFor(state, routeIndex) }))
    .reduce<{ routeIndex: number; afterMs: number } | null>(
      (best, wait) => (best === null || wait.afterMs < best.afterMs ? wait : best),
      null,
    )
  if (soonest === null || state.nowMs + soonest.afterMs >= state.deadlineMs) return giveUp()
  return { kind: 'try', ...soonest, lastChance: true }
}

/**
 * The route to try of those not tried yet: the first, unless the attempts left are just enough for the models
 * that had none. A list of models is tried in order until one succeeds, however many offers the first has.
 */
function firstOf(
  fresh: readonly number[],
  { routes, attempts, maxAttempts }: FailoverState,
): number | undefined {
  const tried = new Set(attempts.map(({ routeIndex }) => routes[routeIndex]!.modelId))
  const ofOthers = fresh.filter((index) => !tried.has(routes[index]!.modelId))
  const others = new Set(ofOthers.map((index) => routes[index]!.modelId))
  return maxAttempts - attempts.length <= others.size ? (ofOthers[0] ?? fresh[0]) : fresh[0]
}

/** The error a call ends with when it may not go on for a reason of its own, such as a spent retry budget. */
export function giveUpNow(state: FailoverState): FrameError {
  return giveUpError(progressOf(state))
}

const progressOf = (state: FailoverState): CallProgress => ({
  failures: state.attempts.map(({ routeIndex, failure, endedAt }) => ({
    failure,
    endedAt,
    providerKeyId: state.routes[routeIndex]!.providerKeyId,
  })),
  waits: state.routes.flatMap(({ health }) =>
    health.kind === 'down' || health.kind === 'rate-limited' ? [health.untilMs] : [],
  ),
  relayed: state.relayed.kind !== 'nothing',
  nowMs: state.nowMs,
  deadlineMs: state.deadlineMs,
})

/** True after a failure that no other attempt can mend, or once the client has what no attempt can continue. */
function isFinal({ attempts, relayed }: FailoverState): boolean {
  if (relayed.kind === 'more') return true
  const kind = attempts.at(-1)?.failure.kind
  return kind === 'content-policy' || kind === 'bad-request' || kind === 'call-timeout'
}

const isFresh = (state: FailoverState, index: number): boolean =>
  state.attempts.every((attempt) => attempt.routeIndex !== index)

const isReady = (route: Route): boolean => route.health.kind === 'ready' || route.health.kind === 'probe'

/** Whether a route is still in question, now or after a wait. */
function mayTry(state: FailoverState, route: Route, index: number): boolean {
  if (route.health.kind === 'gone' || route.health.kind === 'down') return false
  if (state.relayed.kind === 'text' && route.modelId !== state.relayed.modelId) return false
  let countedFailures = 0
  for (const { routeIndex, failure } of state.attempts) {
    const failed = state.routes[routeIndex]!
    if (failure.kind === 'context-length') {
      if (route.modelId === failed.modelId || route.contextLength <= failed.contextLength) return false
    }
    if (routeIndex !== index) continue
    if (!mayRepeat(failure)) return false
    // A Retry-After that was honoured is an appointment, not the one retry.
    if (failure.kind !== 'rate-limited' || failure.retryAfterMs === null) countedFailures++
  }
  return countedFailures <= 1
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
      return false
    default:
      return failure.kind satisfies never
  }
}

/** Milliseconds until a route may be tried: its appointment, or a backoff with full jitter after a failure. */
function waitFor(state: FailoverState, index: number): number {
  const { health } = state.routes[index]!
  const last = state.attempts.findLast((attempt) => attempt.routeIndex === index)
  const asked = last?.failure.retryAfterMs
  const untilMs = Math.max(
    health.kind === 'rate-limited' ? health.untilMs : 0,
    last && asked != null ? last.endedAt + asked : 0,
  )
  if (untilMs > 0) {
    const waitMs = Math.max(0, untilMs - state.nowMs)
    // Callers that were turned away together should not come back together.
    return Math.ceil(waitMs + state.random() * Math.min(WAIT_JITTER_MAX_MS, waitMs / 10))
  }
  const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (state.attempts.length - 1))
  return Math.floor(state.random() * ceiling)
}
