import type { KeyRecord } from '../../accounts/key-cache.ts'
import type {
  AdmissionReply,
  AdmissionRequest,
  AdmitToRedis,
  RateLimited,
  RateState,
} from '../../billing/holds/admission.ts'
import { HOLD_SLACK_MS } from '../../billing/holds/hold-store.ts'
import { effectiveLimits, type LimitDefaults } from '../../core/accounts/api-key.ts'
import { budgetsOf, drawText, type RunningBudget } from '../../core/billing/budget.ts'
import { writeBody } from '../../core/calls/call-body.ts'
import type { CallEnvelope, Candidate } from '../../core/calls/call-job.ts'
import type { CallLabels } from '../../core/calls/call-labels.ts'
import { type QueueTurnSettings, queuePriority, queueTurn } from '../../core/calls/fair-queue.ts'
import { type CallRequest, kindOf } from '../../core/calls/kinds/call-kinds.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import type { OfferStates } from '../../core/routing/offer-preferences.ts'
import { leastCallCost } from '../../core/routing/plan-candidate.ts'
import { planRoute, type RoutingPlan } from '../../core/routing/routing-plan.ts'
import { currentTraceparent } from '../../platform/observability/tracing.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import { wasNotSent } from '../../platform/redis/redis-deadlines.ts'
import type { CleanupTasks } from '../cleanup-tasks.ts'
import type { TakeSlot } from '../in-process-link.ts'
import { budgetRefusal } from './budget-refusal.ts'
import type { CallHub } from './call-hub.ts'
import { type AdmittedCall, jobData } from './enqueue-and-wait.ts'
import type { NoteLimitReached } from './limit-notice.ts'

/** The default limits of keys and accounts, and the bounds of a call. */
export interface AdmissionLimits extends LimitDefaults, QueueTurnSettings {
  /** Maximum bytes of the bodies of open calls. */
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  tokensPerMinute: number
  defaultCompletionLimit: number
  byokFeePercent: number
  /** Percentage of the calls of `auto` that are answered a second time. Absent: none. */
  attemptsPerCall: number
  callTimeoutMs: number
  nonStreamingCallTimeoutMs: number
}

export interface AdmissionDependencies {
  catalog: () => CatalogSnapshot
  /** The state of offers for calls of an account. */
  offerStates: (accountId: string) => OfferStates
  admit: AdmitToRedis
  /** Loads the ledger's balance of an account into Redis. */
  loadBalance: (accountId: string) => Promise<void>
  /** Loads the allowance of a budget into Redis. */
  loadAllowance: (budget: RunningBudget) => Promise<void>
  /** Closes a hold that may or may not exist. */
  releaseHold: (accountId: string, callId: CallId) => Promise<void>
  /** Called when a budget refused a call. */
  noteLimitReached: NoteLimitReached
  /** Seals a body (see writeBody) for its job; null where it is too long for one. */
  sealBody: (callId: CallId, body: string) => string | null
  hub: Pick<CallHub, 'expect' | 'forget' | 'untilReceiving'>
  /** Absent: no worker shares the process. */
  takeSlot?: TakeSlot | undefined
  /**
   * Undoes the admission of a call that may have been admitted and enqueued in one step. Repeatable.
   * @param askedIn the durability token before that step; undefined: unknown
   */
  undoAdmission: (envelope: CallEnvelope, askedIn: string | undefined) => Promise<void>
  cleanup: CleanupTasks
  limits: AdmissionLimits
  replyChannel: string
  /** The epoch of Redis's data. */
  epoch: () => string
  /** The durability token as last known: while it stays the same, Redis has lost nothing. */
  durabilityToken: () => string
  topUpUrl: string
  clock: FleetTime
  random: () => number
}

/** The properties of a call apart from its request. */
export interface CallIdentity {
  callId: CallId
  requestId: string
  /** The record of its Idempotency-Key, or null. */
  idempotencyRecord: string | null
  /** The length of its body. Absent: light. */
  bodyBytes?: number
  /** Absent: it is planned here. */
  plan?: RoutingPlan | undefined
  labels?: CallLabels | undefined
  /** See CallEnvelope. */
  conversation?: string | undefined
}

/** The result for an admitted call. */
export interface Admission {
  call: AdmittedCall
  rate: RateState
}

/** Maximum wait for Redis and PostgreSQL to admit a call. Redis itself admits none later. */
export const ADMISSION_WAIT_MS = 5_000

/** Shorter bodies are bounded only by the number of open calls. */
const LIGHT_BODY_BYTES = 64 * 1024

/** A longer body is sealed and sent to Redis only after the admission, so that a refused call costs little. */
const SENT_ALONG_BYTES = 16 * 1024

/** Maximum candidates of a plan: more than the attempts, since skipping an unhealthy one is free. */
const CANDIDATES_PER_ATTEMPT = 2

/** Plans a call and bounds its cost. Throws ApiError if nothing can serve it. */
export function planCall(
  request: CallRequest,
  key: Pick<KeyRecord, 'byokKeys' | 'allowList'> & { accountId: string },
  {
    catalog,
    limits,
    offerStates,
    random,
  }: Pick<AdmissionDependencies, 'catalog' | 'limits' | 'offerStates' | 'random'>,
): RoutingPlan {
  return planRoute(request, kindOf(request.content).needs(request.content), catalog(), {
    defaultCompletionLimit: limits.defaultCompletionLimit,
    byokKeys: key.byokKeys,
    allowList: key.allowList,
    byokFeePercent: limits.byokFeePercent,
    maxCandidates: limits.attemptsPerCall * CANDIDATES_PER_ATTEMPT,
    offerState: offerStates(key.accountId),
    random,
  })
}

/**
 * Admits one call: plans the route, bounds its cost, and runs one script for rate limit, concurrency, balance and
 * budgets. The script also enqueues the call if it has no Idempotency-Key, which must be confirmed first, if its body
 * is short, and if it is granted all it asks for. Throws the ApiError for the client; then nothing is held.
 */
export async function admitCall(
  request: CallRequest,
  key: KeyRecord & { accountId: string },
  { callId, requestId, idempotencyRecord, bodyBytes = 0, plan: planned, labels, conversation }: CallIdentity,
  deps: AdmissionDependencies,
): Promise<Admission> {
  const { limits } = deps
  const plan = planned ?? planCall(request, key, deps)
  const now = deps.clock()
  // Read before the hold is taken: an epoch that is too old is harmless, one that is too new is not.
  const epoch = deps.epoch()
  const callTimeoutMs = request.stream ? limits.callTimeoutMs : limits.nonStreamingCallTimeoutMs
  const budgets = budgetsOf(key, now)
  const traceparent = currentTraceparent()
  const asked: CallEnvelope = {
    id: callId,
    accountId: key.accountId,
    keyId: key.keyId,
    requestId,
    requestedModel: request.models[0]!,
    stream: request.stream,
    ...(plan.extended && { extended: true }),
    ...(plan.ignoredParameters && { ignoredParameters: plan.ignoredParameters }),
    replyChannel: deps.replyChannel,
    candidates: plan.candidates,
    ...(plan.auto && { auto: plan.auto }),
    holdPico: String(plan.worstCase),
    leastCallPico: String(leastCallCost(deps.catalog())),
    idempotencyRecord,
    ...(budgets.length > 0 && { draws: drawText(budgets) }),
    epoch,
    ...(traceparent !== undefined && { traceparent }),
    ...(conversation !== undefined && { conversation }),
    ...(labels && { labels }),
    admittedAt: now,
    queueDeadlineAt: now + limits.queueWaitMs,
    callDeadlineAt: now + callTimeoutMs,
  }
  const turn = queueTurn(now, limits)
  const isSentAlong = idempotencyRecord === null && bodyBytes <= SENT_ALONG_BYTES
  const body = isSentAlong ? writeBody(request.content) : ''
  const sealedBody = isSentAlong ? deps.sealBody(callId, body) : null
  const slot = sealedBody === null ? null : deps.takeSlot?.()
  const job =
    sealedBody === null
      ? undefined
      : { data: jobData(asked, sealedBody), turn, nowMs: now, claim: slot ?? undefined }
  const admission: AdmissionRequest = {
    callId,
    accountId: key.accountId,
    keyId: key.keyId,
    holdLifetimeMs: limits.queueWaitMs + callTimeoutMs + HOLD_SLACK_MS,
    amountPico: plan.worstCase,
    flexible: request.completionLimit === undefined || kindOf(request.content).hasFlexibleLimit === true,
    promptPico: plan.dearestPrompt,
    completionRate: plan.dearestCompletionRate,
    completionLimit: plan.completionLimit,
    ...effectiveLimits(key, limits),
    tokensPerMinute: limits.tokensPerMinute,
    tokens: Math.min(plan.promptTokens + plan.completionLimit, limits.tokensPerMinute),
    budgets,
    ...(bodyBytes > LIGHT_BODY_BYTES && {
      body: {
        bytes: bodyBytes,
        keyMax: limits.bodyBytesPerKey,
        accountMax: limits.bodyBytesPerAccount,
      },
    }),
    admitBy: now + ADMISSION_WAIT_MS,
    ...(job && { job }),
  }
  let asking = admission
  const ask = async () => {
    const askedIn = deps.durabilityToken()
    try {
      return await deps.admit(asking)
    } catch (error) {
      // Redis can fail between the operation and its response.
      const undo = () => (job ? deps.undoAdmission(asked, askedIn) : deps.releaseHold(key.accountId, callId))
      if (!wasNotSent(error)) deps.cleanup.add(undo)
      throw error
    }
  }

  // A worker of this process sends frames without Redis.
  if (!slot) await deps.hub.untilReceiving()
  if (job) deps.hub.expect(callId)
  let answer: AdmissionReply | null = null
  try {
    answer = await ask()
    // Not late by the clock of this process: another server, whose clock is ahead, is the primary now.
    if (answer.kind === 'too-late' && deps.clock(now) - now < ADMISSION_WAIT_MS) {
      const { admitBy: _, ...unbounded } = admission
      asking = unbounded
      answer = await ask()
    }
    if (answer.kind === 'balance-unknown') {
      await deps.loadBalance(key.accountId)
      answer = await ask()
    }
    if (answer.kind === 'allowance-unknown') {
      await Promise.all(answer.budgets.map((index) => deps.loadAllowance(budgets[index]!)))
      answer = await ask()
    }
  } finally {
    if (answer?.kind !== 'admitted') deps.hub.forget(callId)
    if (answer?.kind === 'admitted' && answer.isClaimed) slot?.run({ envelope: asked, sealedBody }, body)
    else slot?.giveBack()
  }
  if (answer.kind === 'allowance-spent') deps.noteLimitReached(key, budgets[answer.budget]!)
  if (answer.kind !== 'admitted')
    throw new AdmissionRefused(refusal(answer, budgets, plan, deps.topUpUrl), answer)

  const { isEnqueued, holdPico, completionLimit, accountOpenCalls, rate } = answer
  const envelope = isEnqueued
    ? asked
    : {
        ...asked,
        holdPico: String(holdPico),
        candidates: plan.candidates.map((candidate) => limited(candidate, completionLimit)),
        ...(completionLimit < plan.completionLimit && { affordedLimit: completionLimit }),
      }
  return { call: { envelope, isEnqueued, priority: queuePriority(accountOpenCalls, turn) }, rate }
}

/** A refusal by the balance cache, with the rate state for the response headers. */
export class AdmissionRefused extends ApiError {
  readonly rate: RateState
  /** Set if no call of the key or account is admitted until then, whatever its size. */
  readonly limited: RateLimited | null

  constructor(error: ApiError, answer: AdmissionReply) {
    super(error.code, error.message, error.details)
    this.rate = answer.rate
    this.limited = answer.kind === 'rate-limited' && answer.rate.remainingRequests === 0 ? answer : null
  }
}

const limited = (candidate: Candidate, limit: number): Candidate => ({
  ...candidate,
  completionLimit: Math.min(candidate.completionLimit, limit),
})

function refusal(
  answer: Exclude<AdmissionReply, { kind: 'admitted' }>,
  budgets: readonly RunningBudget[],
  plan: RoutingPlan,
  topUpUrl: string,
): ApiError {
  switch (answer.kind) {
    case 'rate-limited':
      return rateLimitExceeded(answer)
    case 'too-many-open':
      return new ApiError(
        'concurrency_limit_exceeded',
        answer.scope === 'key'
          ? 'This key has as many calls open as it may. Wait for one to end.'
          : 'The keys of this account together have as many calls open as it may. Wait for one to end.',
        { retryAfterSeconds: answer.retryAfterMs / 1000 },
      )
    case 'too-heavy':
      return bodyIsFull(answer.scope)
    case 'insufficient-balance':
    case 'allowance-spent': {
      const metadata = {
        required_usd: formatUsd(plan.worstCase),
        available_usd: formatUsd(answer.availablePico),
        affordable_max_tokens: answer.affordableTokens,
        top_up_url: topUpUrl,
      }
      if (answer.kind === 'allowance-spent')
        return budgetRefusal(budgets[answer.budget]!, answer.affordableTokens, metadata)
      const lower = answer.affordableTokens > 0 ? ', or lower the token limit' : ''
      return new ApiError(
        'insufficient_balance',
        `The balance does not cover the maximum cost of this call. Top up${lower}.`,
        { metadata },
      )
    }
    case 'too-late':
    case 'balance-unknown':
    case 'allowance-unknown':
      return new ApiError('overloaded', 'The balance is not available right now. Retry shortly.', {
        retryAfterSeconds: 1,
      })
  }
}

/** The error for a call beyond the limit per minute of its key or account. */
export const rateLimitExceeded = ({ scope, retryAfterMs }: RateLimited) =>
  new ApiError(
    'rate_limit_exceeded',
    scope === 'key'
      ? 'This key sends more than its limit per minute. Wait, then retry.'
      : 'The keys of this account together send more than its limit per minute. Wait, then retry.',
    { retryAfterSeconds: retryAfterMs / 1000 },
  )

/** The error for a call whose body exceeds the limit of open calls of its key or account. */
export const bodyIsFull = (scope: 'key' | 'account') =>
  new ApiError(
    'concurrency_limit_exceeded',
    `This ${scope} has reached its limit of request bytes in flight. Wait for a call to end.`,
    { retryAfterSeconds: 1 },
  )

/**
 * Admits a repeat of a call: it counts as one request of the rate limits of its key and account, and takes no hold.
 * Throws `rate_limit_exceeded`.
 */
export async function admitRepeat(
  key: KeyRecord & { accountId: string },
  callId: CallId,
  { admit, limits }: Pick<AdmissionDependencies, 'admit' | 'limits'>,
): Promise<RateState> {
  const answer = await admit({
    callId,
    accountId: key.accountId,
    keyId: key.keyId,
    isRepeat: true,
    holdLifetimeMs: 0,
    amountPico: 0n,
    flexible: false,
    promptPico: 0n,
    completionRate: 0n,
    completionLimit: 0,
    ...effectiveLimits(key, limits),
    tokensPerMinute: limits.tokensPerMinute,
    tokens: 0,
    budgets: [],
  })
  switch (answer.kind) {
    case 'admitted':
      return answer.rate
    case 'rate-limited': {
      const refusal = new ApiError(
        'rate_limit_exceeded',
        answer.scope === 'key'
          ? 'This key sends more than its limit per minute, repeats included. Wait, then retry.'
          : 'The keys of this account together send more than its limit per minute, repeats included. Wait, then retry.',
        { retryAfterSeconds: answer.retryAfterMs / 1000 },
      )
      throw new AdmissionRefused(refusal, answer)
    }
    default:
      throw new Error(`admit.lua returned ${answer.kind} for a repeat`)
  }
}
