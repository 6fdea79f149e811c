import type { FrameError } from '../calls/frames.ts'
import { type AttemptFailure, type FailureKind, wasAccepted } from './attempt-failure.ts'
import type { FailoverState, PastAttempt, Route } from './failover-state.ts'
import { giveUpError } from './give-up-error.ts'
import { isAboutKey } from './key-health.ts'

export type NextStep =
  /** `lastChance`: no other route would be left, so this one gets a longer timeout. */
  | { kind: 'try'; routeIndex: number; afterMs: number; lastChance: boolean }
  | { kind: 'give-up'; error: FrameError }

/**
 * Decides the next step: before the first attempt, and after each failed one. Implements the contract's table "what the
 * provider does, and what we do". In this order:
 * - the same route once more without the prefill that it refused
 * - the same route once more with another key, after a failure that is about its key
 * - a route of the same model that was not tried, at once
 * - before another model, once a route of this one that is back soon or whose failure is temporary
 * - the next model's first route, at once
 * - the shortest wait for any route that deserves another try
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
  if (last && mayChangeKey(last, state) && attemptsLeft(state) > ofUntriedModels(fresh, state).models)
    return { kind: 'try', routeIndex: last.routeIndex, afterMs: 0, lastChance: open.length === 1 }
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
 * The next untried route: the first, unless the remaining attempts are just enough for the models without an attempt. A
 * list of models is tried in order until one succeeds, however many offers the first has. Text that the client has is
 * most likely to be reproduced by the model that started it.
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
 * The routes to retry before `next`: of the last model, or of the plan's first before any attempt, if `next` leaves
 * that model, none of it was repeated yet, and an attempt remains for every model without one.
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

/** Of some routes those whose models had no attempt, and the number of those models. */
function ofUntriedModels(indexes: readonly number[], { routes, attempts }: FailoverState) {
  const tried = new Set(attempts.map(({ routeIndex }) => routes[routeIndex]!.modelId))
  const untried = indexes.filter((index) => !tried.has(routes[index]!.modelId))
  return { routes: untried, models: new Set(untried.map((index) => routes[index]!.modelId)).size }
}

/** A refused prefill does not count: we caused it, and no route refuses two. */
const attemptsLeft = ({ attempts, maxAttempts }: FailoverState): number =>
  maxAttempts - attempts.filter(({ failure }) => failure.kind !== 'prefill-refused').length

/** The route with the shortest wait; null if every wait is too long. */
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

/** True after a failure that no other attempt can fix, or once the client has output that no attempt can continue. */
function isFinal({ attempts, relayed }: FailoverState): boolean {
  if (relayed.kind === 'more') return true
  const { kind, httpStatus = null } = attempts.at(-1)?.failure ?? {}
  // A server error of this kind is about what one server lacks.
  if (kind === 'bad-request') return !wasAccepted(attempts) && (httpStatus ?? 400) < 500
  return kind !== undefined && FINAL.has(kind)
}

/** Failures that any further attempt would repeat. */
const FINAL: ReadonlySet<FailureKind> = new Set([
  'content-policy',
  'call-timeout',
  'not-stored',
  'account-full',
])

/** The error of a call that must end for a reason besides its attempts, such as a spent retry budget. */
export const giveUpNow = (state: FailoverState): FrameError => giveUpError(state, false)

const giveUp = (state: FailoverState, isBackLater = false): NextStep => ({
  kind: 'give-up',
  error: giveUpError(state, isBackLater),
})

const isReady = ({ health }: Route): boolean => health.kind === 'ready' || health.kind === 'probe'

const isFresh = ({ attempts }: FailoverState, index: number): boolean =>
  attempts.every(({ routeIndex }) => routeIndex !== index)

/** The longest backoff, and the longest wait for a route while another model is available. */
const SHORT_WAIT_MS = 2_500
/** The maximum total wait of a call for routes with a known return time. */
const LONG_WAIT_MS = 10_000
const BACKOFF_BASE_MS = 400
const WAIT_JITTER_MAX_MS = 1_000

/** Whether a failed attempt may be repeated with another key of its offer. */
export const mayChangeKey = ({ routeIndex, failure }: PastAttempt, { routes }: FailoverState): boolean =>
  routes[routeIndex]!.hasReadyKey === true && isReady(routes[routeIndex]!) && isAboutKey(failure)

/** Whether a route may still be tried, now or after a wait. */
function mayTry(state: FailoverState, index: number): boolean {
  const route = state.routes[index]!
  if (route.health.kind === 'gone' || route.health.kind === 'down') return false
  if (!mayTakeOver(state, route)) return false
  let countedFailures = 0
  for (const attempt of state.attempts) {
    const { routeIndex, failure } = attempt
    const failed = state.routes[routeIndex]!
    if (failure.kind === 'context-length') {
      if (route.modelId === failed.modelId || route.contextLength <= failed.contextLength) return false
    }
    if (routeIndex !== index || mayChangeKey(attempt, state)) continue
    if (!mayRepeat(failure)) return false
    // A retry that Retry-After asked for does not count as the one retry; a prefill is not requested twice.
    if (!isAppointment(failure) && failure.kind !== 'prefill-refused') countedFailures++
  }
  return countedFailures <= 1
}

/**
 * Whether a route may finish the output of another. The price is that of the first model, so a route of another model
 * must be paid by the same party: the client with its own key, or the gateway.
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
    // A silent route is never repeated: the second wait would cost the client as much as the first.
    case 'silent':
    case 'stalled':
    case 'refused':
    case 'key-unavailable':
    case 'context-length':
    case 'content-policy':
    case 'bad-request':
    case 'call-timeout':
    case 'rescue-mismatch':
    // A repetition would cost as much again.
    case 'not-stored':
    case 'account-full':
    // A repetition would cost its tokens again.
    case 'empty-answer':
      return false
    default:
      return failure.kind satisfies never
  }
}

/** Whether a route of a model is worth a short wait before the next model: it is back soon, or its failure is temporary. */
function isWorthAsking(state: FailoverState, index: number): boolean {
  const backAt = backAtMs(state, index)
  if (backAt !== null) return backAt - state.nowMs <= SHORT_WAIT_MS
  const kind = state.attempts.findLast(({ routeIndex }) => routeIndex === index)?.failure.kind
  return kind === 'rate-limited' || kind === 'server-error' || kind === 'reset' || kind === 'broken-stream'
}

/** Time until a route may be tried, in ms; null if it exceeds the wait of a call. */
function waitFor(state: FailoverState, index: number): number | null {
  const backAt = backAtMs(state, index)
  if (backAt === null) {
    const ceiling = Math.min(SHORT_WAIT_MS, BACKOFF_BASE_MS * 2 ** (state.attempts.length - 1))
    return Math.floor(state.random() * ceiling)
  }
  const waitMs = Math.max(0, backAt - state.nowMs)
  const leftMs = Math.max(0, LONG_WAIT_MS - state.waitedMs)
  if (waitMs > leftMs) return null
  // Jitter prevents calls that failed together from returning together.
  const jitterMs = state.random() * Math.min(WAIT_JITTER_MAX_MS, waitMs / 10)
  return Math.min(leftMs, Math.ceil(waitMs + jitterMs))
}

/** When a route is expected back, unix milliseconds; null if unknown. */
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
