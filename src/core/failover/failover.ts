import type { FrameError } from '../calls/frames.ts'
import { type CallProgress, giveUpError } from './failover-errors.ts'
import {
  backAtMs,
  type FailoverState,
  isFresh,
  isReady,
  isWorthAsking,
  mayTry,
  waitFor,
  wasAccepted,
} from './failover-state.ts'

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
  if (relayed.kind !== 'text') return fresh[0]
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
  return kind === 'content-policy' || kind === 'call-timeout'
}

/** The error a call ends with when it may not go on for a reason of its own, such as a spent retry budget. */
export const giveUpNow = (state: FailoverState): FrameError => giveUpError(progressOf(state, false))

const giveUp = (state: FailoverState, isBackLater = false): NextStep => ({
  kind: 'give-up',
  error: giveUpError(progressOf(state, isBackLater)),
})

const progressOf = (state: FailoverState, isBackLater: boolean): CallProgress => ({
  failures: state.attempts.map(({ routeIndex, failure, endedAt }) => ({
    failure,
    endedAt,
    providerKeyId: state.routes[routeIndex]!.providerKeyId,
  })),
  waits: state.routes.flatMap(({ health }) =>
    health.kind === 'down' || health.kind === 'rate-limited' ? [health.untilMs] : [],
  ),
  isBackLater,
  relayed: state.relayed.kind !== 'nothing',
  nowMs: state.nowMs,
  deadlineMs: state.deadlineMs,
})
