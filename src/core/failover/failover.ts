import type { FrameError } from '../calls/frames.ts'
import { type AttemptFailure, type FailureKind, wasAccepted } from './attempt-failure.ts'
import type { FailoverState, Route } from './failover-state.ts'
import { giveUpError } from './give-up-error.ts'

export type NextStep =
  /** `lastChance`: no other route would be left, so this one is given more patience. */
  | { kind: 'try'; routeIndex: number; afterMs: number; lastChance: boolean }
  | { kind: 'give-up'; error: FrameError }

/**
 * What to do next: before the first attempt, and after each that failed. Implements the contract's table
 * "what the provider does, and what we do". In this order:
 *   - the same route once more without the prefill that it refused
 *   - a route of the same model that was not tried, at once
 *   - before another model, once a route of this one that is back soon or whose failure passes
 *   - the next model's first route, at once
 *   - the shortest wait for any route that deserves another try
 */
export function nextStep(state: FailoverState): NextStep {
  const { attempts, routes } = state
  if (isFinal(state) || attemptsLeft(state) <= 0 || state.nowMs >= state.deadlineMs) return giveUp(state)
  const open = routes.flatMap((_, index) => (mayTry(state, index) ? [index] : []))
  const last = attempts.at(-1)
  if (last?.failure.kind === 'prefill-refused' && open.includes(last.routeIndex)) {
    return { kind: 'try', routeIndex: last.routeIndex, afterMs: 0, lastChance: open.length === 1 }
  }
  const fresh = open.filter((index) => isFresh(state, index) && isReady(routes[index]!))
  const next = firstOf(fresh, state)
  const again = soonestOf(next === undefined ? open : askedOnceMore(state, open, fresh, next), state)
  if (again !== null) return { kind: 'try', ...again, lastChance: next === undefined }
  if (next === undefined) {
    return giveUp(
      state,
      open.some((index) => backAtMs(state, index) !== null),
    )
  }
  const lastChance = fresh.length === 1 || attemptsLeft(state) === 1
  return { kind: 'try', routeIndex: next, afterMs: 0, lastChance }
}

/**
 * The route to try of those not tried yet: the first, unless the attempts left are just enough for the models
 * that had none. A list of models is tried in order until one succeeds, however many offers the first has. Text that
 * the client has is most likely to be said again by the model that began it.
 */
function firstOf(fresh: readonly number[], state: FailoverState): number | undefined {
  const { routes, relayed } = state
  const untried = ofUntriedModels(fresh, state)
  if (attemptsLeft(state) <= untried.models) return untried.routes[0] ?? fresh[0]
  if (relayed.kind !== 'repeatable') return fresh[0]
  const { modelId } = routes[relayed.routeIndex]!
  return fresh.find((index) => routes[index]!.modelId === modelId) ?? fresh[0]
}

/**
 * The routes to ask once more before `next`: of the model that was asked last, or of the plan's first while none was,
 * if `next` leaves it, nothing of it was repeated yet, and an attempt remains for every model that had none.
 */
function askedOnceMore(
  state: FailoverState,
  open: readonly number[],
  fresh: readonly number[],
  next: number,
): number[] {
  const { routes, attempts } = state
  const last = attempts.at(-1)
  const modelId = routes[last?.routeIndex ?? open[0] ?? next]!.modelId
  if (routes[next]!.modelId === modelId) return []
  const tried = attempts.flatMap(({ routeIndex, failure }) =>
    routes[routeIndex]!.modelId === modelId && failure.kind !== 'prefill-refused' ? [routeIndex] : [],
  )
  if (tried.length > new Set(tried).size) return []
  if (attemptsLeft(state) <= ofUntriedModels(fresh, state).models) return []
  return open.filter((index) => routes[index]!.modelId === modelId && isWorthAsking(state, index))
}

/** Of some routes those whose models had no attempt, and how many models that are. */
function ofUntriedModels(indexes: readonly number[], { routes, attempts }: FailoverState) {
  const tried = new Set(attempts.map(({ routeIndex }) => routes[routeIndex]!.modelId))
  const untried = indexes.filter((index) => !tried.has(routes[index]!.modelId))
  return { routes: untried, models: new Set(untried.map((index) => routes[index]!.modelId)).size }
}

/** What a refused prefill took is not counted: it was of our own making, and no route refuses two. */
const attemptsLeft = ({ attempts, maxAttempts }: FailoverState): number =>
  maxAttempts - attempts.filter(({ failure }) => failure.kind !== 'prefill-refused').length

/** The route with the shortest wait; null where every wait is too long. */
function soonestOf(
  indexes: readonly number[],
  state: FailoverState,
): { routeIndex: number; afterMs: number } | null {
  let soonest: { routeIndex: number; afterMs: number } | null = null
  for (const routeIndex of indexes) {
    const afterMs = waitFor(state, routeIndex)
    if (afterMs === null || state.nowMs + afterMs >= state.deadlineMs) continue
    if (soonest === null || afterMs < soonest.afterMs) soonest = { routeIndex, afterMs }
  }
  return soonest
}

/** True after a failure that no other attempt can mend, or once the client has what no attempt can continue. */
function isFinal({ attempts, relayed }: FailoverState): boolean {
  if (relayed.kind === 'more') return true
  const kind = attempts.at(-1)?.failure.kind
  if (kind === 'bad-request') return !wasAccepted(attempts)
  return kind !== undefined && FINAL.has(kind)
}

/** Whatever is tried next would end the same way. */
const FINAL: ReadonlySet<FailureKind> = new Set([
  'content-policy',
  'call-timeout',
  'not-stored',
  'account-full',
])

/** The error a call ends with when it may not go on for a reason of its own, such as a spent retry budget. */
export const giveUpNow = (state: FailoverState): FrameError => giveUpError(state, false)

const giveUp = (state: FailoverState, isBackLater = false): NextStep => ({
  kind: 'give-up',
  error: giveUpError(state, isBackLater),
})

const isReady = ({ health }: Route): boolean => health.kind === 'ready' || health.kind === 'probe'

const isFresh = ({ attempts }: FailoverState, index: number): boolean =>
  attempts.every(({ routeIndex }) => routeIndex !== index)

/** The longest backoff, and the longest wait for a route while another model could be asked. */
const SHORT_WAIT_MS = 2_500
/** The longest that a call waits for routes that said when they are back, all its waits together. */
const LONG_WAIT_MS = 10_000
const BACKOFF_BASE_MS = 400
const WAIT_JITTER_MAX_MS = 1_000

/** Whether a route is still in question, now or after a wait. */
function mayTry(state: FailoverState, index: number): boolean {
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
    // Another of the same would cost as much again.
    case 'not-stored':
    case 'account-full':
    // Another of the same would cost its tokens again.
    case 'empty-answer':
      return false
    default:
      return failure.kind satisfies never
  }
}

/** Whether a route of a model is worth a short wait before the model is left: it is back soon, or what failed passes. */
function isWorthAsking(state: FailoverState, index: number): boolean {
  const backAt = backAtMs(state, index)
  if (backAt !== null) return backAt - state.nowMs <= SHORT_WAIT_MS
  const kind = state.attempts.findLast(({ routeIndex }) => routeIndex === index)?.failure.kind
  return kind === 'rate-limited' || kind === 'server-error' || kind === 'reset' || kind === 'broken-stream'
}

/** How long until a route may be tried, in ms; null where that is longer than a call waits. */
function waitFor(state: FailoverState, index: number): number | null {
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
function backAtMs({ routes, attempts }: FailoverState, index: number): number | null {
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
