import { type BudgetHolder, drawText } from '../../core/billing/budget.ts'
import { PRIORITY_MAX, type QueueTurn } from '../../core/calls/fair-queue.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Affinity } from '../../core/routing/call-plan.ts'
import { DISPATCH_QUEUE } from '../../platform/queues/queues.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys, queuePrefix, shardOf } from '../../platform/redis/redis-keys.ts'

const ADMIT = readScript(import.meta.url, './holds.lua', './admit.lua')

/** Exceeds the time in which the admission of a call may be sent to Redis twice. */
export const MARK_MS = 20_000

/** The input of an admission: one call and its limits. */
export interface AdmissionRequest {
  callId: CallId
  accountId: string
  keyId: string
  /** How long the hold may stay open before the sweep checks it. */
  holdLifetimeMs: number
  /** The hold at the full completion limit. */
  amountPico: bigint
  /** The client set no limit, so the completion limit may shrink to what the balance affords. */
  flexible: boolean
  promptPico: bigint
  completionRate: bigint
  completionLimit: number
  requestsPerMinute: number
  tokensPerMinute: number
  tokens: number
  concurrentCalls: number
  /** Counted over all keys of the account. */
  accountRequestsPerMinute: number
  accountConcurrentCalls: number
  /** The budgets that bound the call beside the balance, in their current periods. */
  budgets: ReadonlyArray<BudgetHolder & { period: { id: string } }>
  /** The latest time of admission, unix ms by Redis's clock. Absent: no limit. */
  admitBy?: number
  /**
   * The size of a heavy body, and the maximum for the bodies of the open calls of its key and account. Absent: a light
   * body.
   */
  body?: { bytes: number; keyMax: number; accountMax: number }
  /** A repeat of a call: it counts as one request and takes no hold. */
  isRepeat?: boolean
  /** The job, enqueued in the same step if the call is granted all it asks for. Absent: the caller enqueues it. */
  job?: {
    /** A CallJob, JSON. */
    data: string
    turn: QueueTurn
    /** Unix ms. */
    nowMs: number
    /** A worker with a free slot, which claims the job in the same step; not enqueued if others wait. Absent: none. */
    claim?: { token: string; lockMs: number } | undefined
  }
  /** Absent: the call has no conversation, or no choice of offers. */
  affinity?: Required<Affinity> | undefined
}

/** The remaining rate limits of a key and its account, for the response headers. */
export interface RateState {
  /** The request limit with fewer requests left, of the key or of the account. */
  limitRequests: number
  remainingRequests: number
  remainingTokens: number
  /** Time until both windows are fully available again. */
  resetMs: number
}

/** The owner of the exceeded limit. */
export type LimitScope = 'key' | 'account'

/** A refusal for requests or tokens per minute. */
export interface RateLimited {
  scope: LimitScope
  /** Time until a call of the same size would be admitted. */
  retryAfterMs: number
}

export type AdmissionOutcome =
  | {
      kind: 'admitted'
      holdPico: bigint
      completionLimit: number
      /** Including this call. */
      accountOpenCalls: number
      isEnqueued: boolean
      /** Whether the worker named with the job claimed it. */
      isClaimed: boolean
      /** The candidate that its conversation is on, from 0; its job has it. */
      first: number
    }
  | { kind: 'rate-limited' | 'too-many-open' | 'too-heavy'; retryAfterMs: number; scope: LimitScope }
  | { kind: 'insufficient-balance'; availablePico: bigint; affordableTokens: number }
  /** `budget`: index of the exceeded budget. */
  | { kind: 'allowance-spent'; availablePico: bigint; affordableTokens: number; budget: number }
  | { kind: 'balance-unknown' | 'too-late' }
  /** Indices of the budgets without an allowance in Redis. */
  | { kind: 'allowance-unknown'; budgets: number[] }

export type AdmissionReply = AdmissionOutcome & { rate: RateState }

export type AdmitToRedis = (request: AdmissionRequest) => Promise<AdmissionReply>

/** Creates the function that admits a call by one Redis script. It rejects when Redis is away. */
export function createAdmission(redis: Redis): AdmitToRedis {
  const admit = defineScript(redis, 'syAdmit', ADMIT)
  return async (request) => {
    const { record } = accountKeys(request.accountId, redis)
    const reply = await admit(
      [record, `${queuePrefix(shardOf(request.accountId, redis))}:${DISPATCH_QUEUE}`],
      [
        request.callId,
        request.holdLifetimeMs,
        String(request.amountPico),
        request.flexible ? '1' : '0',
        String(request.promptPico),
        String(request.completionRate),
        request.completionLimit,
        request.requestsPerMinute,
        request.tokensPerMinute,
        request.tokens,
        request.concurrentCalls,
        request.keyId,
        drawText(request.budgets),
        request.accountRequestsPerMinute,
        request.accountConcurrentCalls,
        request.isRepeat ? '1' : '0',
        request.admitBy ?? '',
        request.body?.bytes ?? 0,
        request.body?.keyMax ?? 0,
        request.body?.accountMax ?? 0,
        ...jobArguments(request),
        ...(request.affinity ? [request.affinity.conversation, request.affinity.targets.join('\n')] : []),
      ],
    )
    return readReply(reply as unknown[])
  }
}

function jobArguments({ job, affinity }: AdmissionRequest): Array<string | number> {
  if (!job) return affinity ? Array<string>(9).fill('') : ['']
  const { share, step, lastStep } = job.turn
  const { token = '', lockMs = 0 } = job.claim ?? {}
  return [job.data, job.nowMs, share, step, lastStep, PRIORITY_MAX, MARK_MS, token, lockMs]
}

function readReply([outcome, limit, requests, tokens, reset, ...more]: unknown[]): AdmissionReply {
  const [first, second, third, fourth, fifth] = more
  const rate = {
    limitRequests: Number(limit),
    remainingRequests: Number(requests),
    remainingTokens: Number(tokens),
    resetMs: Number(reset),
  }
  switch (outcome) {
    case 'ok':
      return {
        kind: 'admitted',
        holdPico: BigInt(first as string),
        completionLimit: Number(second),
        accountOpenCalls: Number(third),
        isEnqueued: fourth !== 0,
        isClaimed: fourth === 2,
        first: Number(fifth ?? 0),
        rate,
      }
    case 'rate':
      return { kind: 'rate-limited', retryAfterMs: Number(first), scope: second as LimitScope, rate }
    case 'concurrency':
      return { kind: 'too-many-open', retryAfterMs: Number(first), scope: second as LimitScope, rate }
    case 'bytes':
      return { kind: 'too-heavy', retryAfterMs: Number(first), scope: second as LimitScope, rate }
    case 'balance':
    case 'allowance': {
      const short = { availablePico: BigInt(first as string), affordableTokens: Number(second), rate }
      return outcome === 'balance'
        ? { kind: 'insufficient-balance', ...short }
        : { kind: 'allowance-spent', ...short, budget: Number(third) - 1 }
    }
    case 'load-balance':
      return { kind: 'balance-unknown', rate }
    case 'load-allowance':
      return { kind: 'allowance-unknown', budgets: more.map((index) => Number(index) - 1), rate }
    case 'late':
      return { kind: 'too-late', rate }
    default:
      throw new Error(`admit.lua returned ${String(outcome)}`)
  }
}

export interface OpenHold {
  callId: string
  amountPico: bigint
  keyId: string
  /** The budgets that the hold was taken from, see drawText. */
  draws: string
  /** When a sweep may close the hold, unix ms. */
  deadlineAt: number
}

const HOLD = /^(\d+):\d+:([^:]*):([^:]*):(\d+):\d*$/

/** The holds in an account's record; see holds.lua for its fields. */
export const readHolds = (record: Record<string, string>): OpenHold[] =>
  Object.entries(record).flatMap(([callId, field]) => {
    const [, amount, keyId, draws, deadline] = HOLD.exec(field) ?? []
    if (amount === undefined) return []
    return { callId, amountPico: BigInt(amount), keyId: keyId!, draws: draws!, deadlineAt: Number(deadline) }
  })
