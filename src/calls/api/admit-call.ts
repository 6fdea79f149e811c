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
import { type BudgetScope, budgetsOf, drawText, type RunningBudget } from '../../core/billing/budget.ts'
import { isGroupScope } from '../../core/billing/group-scopes.ts'
import { writeBody } from '../../core/calls/call-body.ts'
import {
  type CachedUnder,
  type CallEnvelope,
  type Candidate,
  startingWith,
} from '../../core/calls/call-job.ts'
import type { CallLabels } from '../../core/calls/call-labels.ts'
import { conversationHash } from '../../core/calls/conversation-id.ts'
import {
  laneOf,
  laneWaitMs,
  type QueueTurnSettings,
  queuePriority,
  queueTurn,
} from '../../core/calls/fair-queue.ts'
import { type CallRequest, kindOf } from '../../core/calls/kinds/call-kinds.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { type CallPlan, planRoute } from '../../core/routing/call-plan.ts'
import type { OfferStates } from '../../core/routing/offer-preferences.ts'
import { leastCallCost } from '../../core/routing/plan-candidate.ts'
import type { ChooseAutoModels } from '../../core/routing/plan-models.ts'
import { currentTraceparent } from '../../platform/observability/tracing.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import { wasNotSent } from '../../platform/redis/redis-deadlines.ts'
import type { CleanupTasks } from '../cleanup-tasks.ts'
import type { TakeSlot } from '../in-process-link.ts'
import type { CallHub } from './call-hub.ts'
import { type AdmittedCall, jobData } from './enqueue-and-wait.ts'

/** The default limits of keys and accounts, and the bounds of a call. */
export interface AdmissionLimits extends LimitDefaults, QueueTurnSettings {
  /** Maximum bytes of the bodies of open calls. */
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  tokensPerMinute: number
  defaultCompletionLimit: number
  byokFeePercent: number
  attemptsPerCall: number
  callTimeoutMs: number
  nonStreamingCallTimeoutMs: number
}

export interface AdmissionDependencies {
  catalog: () => CatalogSnapshot
  chooseAutoModels: ChooseAutoModels
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
  noteLimitReached: (key: KeyRecord, budget: RunningBudget) => void
  /** Seals a body (see writeBody) for its job; null where it is too long for one. */
  sealBody: (callId: CallId, body: string | Buffer) => string | null
  hub: Pick<CallHub, 'expect' | 'forget' | 'untilReceiving'>
  /** Absent: no worker shares the process. */
  takeSlot?: TakeSlot | undefined
  /**
   * Undoes the admission of a call that may have been admitted and enqueued in one step. Repeatable.
   * @param sentIn the durability token before that step; undefined: unknown
   */
  undoAdmission: (envelope: CallEnvelope, sentIn: string | undefined) => Promise<void>
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

/** Who makes a call, and what its HTTP request says beside the call itself. */
export interface Caller {
  key: KeyRecord & { accountId: string }
  requestId: string
  /** The `Idempotency-Key` header, or null. */
  idempotencyKey: string | null
  /** Two requests with one Idempotency-Key must have the same, which distinguishes repeats from conflicts. */
  fingerprint: unknown
  bodyBytes: number
  labels?: CallLabels | undefined
  /** See CallEnvelope. */
  conversation?: string | undefined
  /** How old a cached response may be that answers the call; absent: it asked for none. */
  cacheSeconds?: number | undefined
  /** The path of the route, as part of what is cached. */
  surface?: string | undefined
  /**
   * Called with the state of the key's rate limits, whether the call is admitted or refused. `limited`: no call of the
   * key or account is admitted until then.
   */
  noteRate: (rate: RateState, limited?: RateLimited | null) => void
}

/** Maximum wait for Redis and PostgreSQL to admit a call. Redis itself admits none later. */
export const ADMISSION_WAIT_MS = 5_000

/** Shorter bodies are bounded only by the number of open calls. */
const LIGHT_BODY_BYTES = 64 * 1024

/** A longer body is sealed and sent to Redis only after the admission, so that a refused call costs little. */
const SENT_ALONG_BYTES = 16 * 1024

/** Maximum candidates of a plan: more than the attempts, since skipping an unhealthy one is free. */
const CANDIDATES_PER_ATTEMPT = 2

/**
 * Plans a call and bounds its cost. Throws ApiError if nothing can serve it.
 * @param session the client's id of its conversation
 */
export function planCall(
  request: CallRequest,
  key: Pick<KeyRecord, 'byokKeys' | 'allowList'> & { accountId: string },
  session: string | undefined,
  {
    catalog,
    limits,
    offerStates,
    random,
    chooseAutoModels,
  }: Pick<AdmissionDependencies, 'catalog' | 'limits' | 'offerStates' | 'random' | 'chooseAutoModels'>,
): CallPlan {
  return planRoute(request, kindOf(request.content).needs(request.content), catalog(), {
    defaultCompletionLimit: limits.defaultCompletionLimit,
    byokKeys: key.byokKeys,
    allowList: key.allowList,
    byokFeePercent: limits.byokFeePercent,
    maxCandidates: limits.attemptsPerCall * CANDIDATES_PER_ATTEMPT,
    offerState: offerStates(key.accountId),
    conversation: () => conversationHash(request.content, session, key.accountId),
    random,
    chooseAutoModels,
  })
}

/**
 * Admits one call: plans the route, bounds its cost, and runs one script for rate limit, concurrency, balance and
 * budgets. The script also enqueues the call if it has no Idempotency-Key, which must be confirmed first, if a worker of
 * this process claims it or its body is short, and if it is granted all it asks for. Throws the ApiError for the client;
 * then nothing is held.
 */
export async function admitCall(
  request: CallRequest,
  caller: Pick<Caller, 'key' | 'requestId' | 'bodyBytes' | 'labels' | 'conversation'>,
  known: {
    callId: CallId
    idempotencyRecord: string | null
    plan?: CallPlan | undefined
    cache?: CachedUnder | undefined
  },
  deps: AdmissionDependencies,
): Promise<AdmittedCall> {
  const { limits } = deps
  const { key } = caller
  const {
    callId,
    idempotencyRecord,
    cache,
    plan = planCall(request, key, caller.labels?.session, deps),
  } = known
  const now = deps.clock()
  const budgets = budgetsOf(key, now, caller.labels?.groups)
  const wanted = envelopeOf(request, caller, { callId, idempotencyRecord, cache, plan, now, budgets }, deps)
  const lane = laneOf(plan.candidates)
  const turn = queueTurn(now, limits, lane)
  const takesSlot = idempotencyRecord === null && lane !== 'flex'
  const slot = takesSlot ? (deps.takeSlot?.() ?? undefined) : undefined
  const isSentAlong = !slot && idempotencyRecord === null && caller.bodyBytes <= SENT_ALONG_BYTES
  const sealedBody = isSentAlong ? deps.sealBody(callId, writeBody(request.content)) : null
  const hasJob = slot !== undefined || sealedBody !== null
  const admission = {
    ...admissionOf(request, caller, plan, wanted, deps),
    budgets,
    ...(hasJob && { job: { data: jobData(wanted, sealedBody), turn, nowMs: now, claim: slot } }),
  }
  const send = async (bounded: AdmissionRequest) => {
    const sentIn = deps.durabilityToken()
    try {
      return await deps.admit(bounded)
    } catch (error) {
      // Redis can fail between the operation and its response.
      const undo = () =>
        hasJob ? deps.undoAdmission(wanted, sentIn) : deps.releaseHold(key.accountId, callId)
      if (!wasNotSent(error)) deps.cleanup.add(undo)
      throw error
    }
  }

  // A worker of this process sends frames without Redis.
  if (!slot) await deps.hub.untilReceiving()
  if (hasJob) deps.hub.expect(callId)
  let reply: AdmissionReply | null = null
  try {
    let bounded: AdmissionRequest = { ...admission, admitBy: now + ADMISSION_WAIT_MS }
    reply = await send(bounded)
    // Not late by the clock of this process: another server, whose clock is ahead, is the primary now.
    if (reply.kind === 'too-late' && deps.clock(now) - now < ADMISSION_WAIT_MS) {
      bounded = admission
      reply = await send(bounded)
    }
    if (reply.kind === 'balance-unknown') {
      await deps.loadBalance(key.accountId)
      reply = await send(bounded)
    }
    if (reply.kind === 'allowance-unknown') {
      await Promise.all(reply.budgets.map((index) => deps.loadAllowance(budgets[index]!)))
      reply = await send(bounded)
    }
  } finally {
    if (reply?.kind !== 'admitted') deps.hub.forget(callId)
    if (reply?.kind === 'admitted' && reply.isClaimed)
      slot?.run({ envelope: startingWith(wanted, reply.first), sealedBody }, request.content)
    else slot?.giveBack()
  }
  if (reply.kind === 'allowance-spent') deps.noteLimitReached(key, budgets[reply.budget]!)
  if (reply.kind !== 'admitted')
    throw new AdmissionRefused(refusal(reply, budgets, plan, deps.topUpUrl), reply)

  const { isEnqueued, accountOpenCalls, rate, first } = reply
  const envelope = startingWith(isEnqueued ? wanted : grantedOf(wanted, plan, reply), first)
  return { kind: 'admitted', envelope, isEnqueued, priority: queuePriority(accountOpenCalls, turn), rate }
}

/** The envelope of a call that is granted all it requests. */
function envelopeOf(
  request: CallRequest,
  { key, requestId, labels, conversation }: Pick<Caller, 'key' | 'requestId' | 'labels' | 'conversation'>,
  call: {
    callId: CallId
    idempotencyRecord: string | null
    cache: CachedUnder | undefined
    plan: CallPlan
    now: number
    budgets: readonly RunningBudget[]
  },
  deps: AdmissionDependencies,
): CallEnvelope {
  const { limits } = deps
  const { callId, idempotencyRecord, cache, plan, now, budgets } = call
  const traceparent = currentTraceparent()
  const queueDeadlineAt = now + laneWaitMs(laneOf(plan.candidates), limits)
  return {
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
    ...(cache && { cache }),
    ...(budgets.length > 0 && { draws: drawText(budgets) }),
    // Read before the hold is taken: an epoch that is too old is harmless, one that is too new is not.
    epoch: deps.epoch(),
    ...(traceparent !== undefined && { traceparent }),
    ...(conversation !== undefined && { conversation }),
    ...(labels && { labels }),
    ...(plan.affinity && { affinity: plan.affinity.conversation }),
    admittedAt: now,
    queueDeadlineAt,
    callDeadlineAt: now + callMs(plan, request.stream, limits),
  }
}

/** The envelope of a call whose balance or budget afforded a lower completion limit. */
const grantedOf = (
  wanted: CallEnvelope,
  plan: CallPlan,
  { holdPico, completionLimit }: Extract<AdmissionReply, { kind: 'admitted' }>,
): CallEnvelope => ({
  ...wanted,
  holdPico: String(holdPico),
  candidates: plan.candidates.map((candidate) => limited(candidate, completionLimit)),
  ...(completionLimit < plan.completionLimit && { affordedLimit: completionLimit }),
})

/** How long a call may take in all. The patience of the lane `flex` is added, since its providers wait, too. */
export const callMs = (
  { candidates }: Pick<CallPlan, 'candidates'>,
  isStream: boolean,
  limits: Pick<AdmissionLimits, 'flexWaitMs' | 'callTimeoutMs' | 'nonStreamingCallTimeoutMs'>,
): number =>
  (laneOf(candidates) === 'flex' ? limits.flexWaitMs : 0) +
  (isStream ? limits.callTimeoutMs : limits.nonStreamingCallTimeoutMs)

/** The hold and the limits of a call, without its budgets and job. */
function admissionOf(
  request: CallRequest,
  { key, bodyBytes }: Pick<Caller, 'key' | 'bodyBytes'>,
  plan: CallPlan,
  { id: callId, callDeadlineAt, admittedAt }: CallEnvelope,
  { limits }: AdmissionDependencies,
): Omit<AdmissionRequest, 'budgets' | 'job'> {
  return {
    callId,
    accountId: key.accountId,
    keyId: key.keyId,
    holdLifetimeMs: limits.queueWaitMs + callDeadlineAt - admittedAt + HOLD_SLACK_MS,
    amountPico: plan.worstCase,
    flexible: request.completionLimit === undefined || kindOf(request.content).hasFlexibleLimit === true,
    promptPico: plan.dearestPrompt,
    completionRate: plan.dearestCompletionRate,
    completionLimit: plan.completionLimit,
    ...effectiveLimits(key, limits),
    tokensPerMinute: limits.tokensPerMinute,
    tokens: Math.min(plan.promptTokens + plan.completionLimit, limits.tokensPerMinute),
    ...(plan.affinity?.targets && { affinity: { ...plan.affinity, targets: plan.affinity.targets } }),
    ...(bodyBytes > LIGHT_BODY_BYTES && {
      body: { bytes: bodyBytes, keyMax: limits.bodyBytesPerKey, accountMax: limits.bodyBytesPerAccount },
    }),
  }
}

/** A refusal by the balance cache, with the rate state for the response headers. */
export class AdmissionRefused extends ApiError {
  readonly rate: RateState
  /** Set if no call of the key or account is admitted until then, whatever its size. */
  readonly limited: RateLimited | null

  constructor(error: ApiError, reply: AdmissionReply) {
    super(error.code, error.message, error.details)
    this.rate = reply.rate
    this.limited = reply.kind === 'rate-limited' && reply.rate.remainingRequests === 0 ? reply : null
  }
}

const limited = (candidate: Candidate, limit: number): Candidate => ({
  ...candidate,
  completionLimit: Math.min(candidate.completionLimit, limit),
})

function refusal(
  reply: Exclude<AdmissionReply, { kind: 'admitted' }>,
  budgets: readonly RunningBudget[],
  plan: CallPlan,
  topUpUrl: string,
): ApiError {
  switch (reply.kind) {
    case 'rate-limited':
      return rateLimitExceeded(reply)
    case 'too-many-open':
      return new ApiError(
        'concurrency_limit_exceeded',
        reply.scope === 'key'
          ? 'This key has as many calls open as it may. Wait for one to end.'
          : 'The keys of this account together have as many calls open as it may. Wait for one to end.',
        { retryAfterSeconds: reply.retryAfterMs / 1000 },
      )
    case 'too-heavy':
      return bodyIsFull(reply.scope)
    case 'insufficient-balance':
    case 'allowance-spent': {
      const metadata = {
        required_usd: formatUsd(plan.worstCase),
        available_usd: formatUsd(reply.availablePico),
        affordable_max_tokens: reply.affordableTokens,
        top_up_url: topUpUrl,
      }
      if (reply.kind === 'allowance-spent')
        return budgetRefusal(budgets[reply.budget]!, reply.affordableTokens, metadata)
      const lower = reply.affordableTokens > 0 ? ', or lower the token limit' : ''
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

const BUDGETS: Record<BudgetScope, string> = {
  key: "The key's spending limit",
  member: 'The monthly budget of the member who made this key',
  account: "The account's monthly spend cap",
  project: 'The budget of the project',
  tag: 'The budget of the tag',
  user: 'The budget of the end user',
}

/** Where each is raised, in the console. */
const RAISED: Partial<Record<BudgetScope, string>> = {
  key: 'Raise it under API keys',
  member: 'An owner or admin raises it under Members',
  account: 'Raise it under Billing, Limits',
}

/** The error for a call that a budget does not cover: the owner of the budget, and when it resets. */
function budgetRefusal(
  { scope, id, period }: RunningBudget,
  affordableTokens: number,
  metadata: Record<string, string | number>,
): ApiError {
  const resetsAt = period.endsAt === null ? null : isoTime(period.endsAt)
  const reset = resetsAt === null ? '' : ` It resets at ${resetsAt}.`
  const lower = affordableTokens > 0 ? ', or lower the token limit' : ''
  const name = isGroupScope(scope) ? ` ${id}` : ''
  return new ApiError(
    'key_limit_exceeded',
    `${BUDGETS[scope]}${name} does not cover the maximum cost of this call.${reset} ${RAISED[scope] ?? 'Raise it under Budgets'}${lower}.`,
    {
      metadata: {
        ...metadata,
        limited_by: scope,
        ...(name && { [scope]: id }),
        ...(resetsAt !== null && { resets_at: resetsAt }),
      },
    },
  )
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
  const reply = await admit({
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
  switch (reply.kind) {
    case 'admitted':
      return reply.rate
    case 'rate-limited': {
      const refusal = new ApiError(
        'rate_limit_exceeded',
        reply.scope === 'key'
          ? 'This key sends more than its limit per minute, repeats included. Wait, then retry.'
          : 'The keys of this account together send more than its limit per minute, repeats included. Wait, then retry.',
        { retryAfterSeconds: reply.retryAfterMs / 1000 },
      )
      throw new AdmissionRefused(refusal, reply)
    }
    default:
      throw new Error(`admit.lua returned ${reply.kind} for a repeat`)
  }
}
