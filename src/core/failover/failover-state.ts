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
  /** The client's BYOK key that this route uses; absent where it uses ours. */
  providerKeyId?: string | undefined
}

export interface PastAttempt {
  routeIndex: number
  failure: AttemptFailure
  /** Unix milliseconds. */
  endedAt: number
}

/** What the client already has of a streamed answer. */
type Relayed =
  | { kind: 'nothing' }
  /** Text and tool calls, so an attempt that says the same may take over. `routeIndex` is where they came from. */
  | { kind: 'repeatable'; routeIndex: number }
  /** Reasoning, a refusal or native blocks: nothing can be compared with them. */
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
  /** `auto` chose the models: errors say nothing that describes them. */
  hidesTarget: boolean
  /** Unix milliseconds. */
  nowMs: number
  deadlineMs: number
  /** Uniform in [0, 1). */
  random: () => number
}
