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
