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

/** A candidate of the plan, as input of the decision. */
export interface Route {
  modelId: string
  /** Tokens. */
  contextLength: number
  health: RouteHealth
  /** The client's BYOK key of this route; absent: a platform key. */
  providerKeyId?: string | undefined
  /** Several platform keys serve it: whether one takes calls now. Absent: one key serves it. */
  hasReadyKey?: boolean | undefined
}

export interface PastAttempt {
  routeIndex: number
  failure: AttemptFailure
  /** Unix milliseconds. */
  endedAt: number
}

/** The streamed output that the client already has. */
type Relayed =
  | { kind: 'nothing' }
  /** Text and tool calls, which an attempt with the same output may continue. `routeIndex` is their source. */
  | { kind: 'repeatable'; routeIndex: number }
  /** Reasoning, a refusal or native blocks, which cannot be compared. */
  | { kind: 'more' }

/** The attempts of a call so far, and its remaining routes. */
export interface FailoverState {
  /** In the order of the plan; the offers of one model follow each other. */
  routes: readonly Route[]
  attempts: readonly PastAttempt[]
  relayed: Relayed
  maxAttempts: number
  /** How long the call has waited between attempts, ms. */
  waitedMs: number
  /** `auto` chose the models: errors must not describe them. */
  hidesTarget: boolean
  /** Unix milliseconds. */
  nowMs: number
  deadlineMs: number
  /** Uniform in [0, 1). */
  random: () => number
}
