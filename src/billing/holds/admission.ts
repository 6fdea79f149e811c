import { PRIORITY_MAX, type QueueTurn } from '../../core/calls/queue-turn.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { callJobOptions, DISPATCH_QUEUE } from '../../platform/queues/queues.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { accountKeys, admittedKey, apiKeyKeys, QUEUE_PREFIX } from '../../platform/redis/redis-keys.ts'
import { defineHoldScript } from './hold-scripts.ts'

const DISPATCH = `${QUEUE_PREFIX}:${DISPATCH_QUEUE}`
/** Longer than a call may wait to be admitted, in which it may be sent to Redis twice. */
export const MARK_MS = 20_000

/** What one call asks of the balance cache. */
export interface AdmissionRequest {
  callId: CallId
  accountId: string
  keyId: string
  /** How long the hold may stay open before a sweep looks after it. */
  holdLifetimeMs: number
  /** The hold at the full completion limit. */
  amountPico: bigint
  /** The client set no limit, so it may shrink to what the balance affords. */
  flexible: boolean
  promptPico: bigint
  completionRate: bigint
  completionLimit: number
  requestsPerMinute: number
  tokensPerMinute: number
  tokens: number
  concurrentCalls: number
  /** Over all keys of the account. */
  accountRequestsPerMinute: number
  accountConcurrentCalls: number
  /** Null: the key has no spending limit. */
  allowancePeriod: string | null
  /** Redis admits it no later than this, unix ms by Redis's clock. Absent: whenever it is asked. */
  admitBy?: number
  /** A heavy body, and what the bodies of the open calls of its key and account may weigh. Absent: a light one. */
  body?: { bytes: number; keyMax: number; accountMax: number }
  /** A repeat of a call: it counts as one request, and holds nothing. */
  isRepeat?: boolean
  /** Its job, enqueued in the same step if the call is granted all it asks for. Absent: its caller enqueues it. */
  job?: JobToEnqueue
}

/** The job of a call in the dispatch queue. */
export interface JobToEnqueue {
  /** A CallJob, JSON. */
  data: string
  turn: QueueTurn
  /** Unix ms. */
  nowMs: number
}

/** What is left of the rate limits of a key and its account, for the response headers. */
export interface RateState {
  /** The limit of requests that leaves fewer, the key's or its account's. */
  limitRequests: number
  remainingRequests: number
  remainingTokens: number
  /** When both windows are whole again. */
  resetMs: number
}

/** Whose limit was hit. */
export type LimitScope = 'key' | 'account'

export type AdmissionOutcome =
  | {
      kind: 'admitted'
      holdPico: bigint
      completionLimit: number
      /** With this one. */
      accountOpenCalls: number
      isEnqueued: boolean
    }
  | { kind: 'rate-limited' | 'too-many-open' | 'too-heavy'; retryAfterMs: number; scope: LimitScope }
  | { kind: 'insufficient-balance' | 'allowance-spent'; availablePico: bigint; affordableTokens: number }
  | { kind: 'balance-unknown' | 'allowance-unknown' | 'too-late' }

export type AdmissionAnswer = AdmissionOutcome & { rate: RateState }

export type AdmitToRedis = (request: AdmissionRequest) => Promise<AdmissionAnswer>

/** The one Redis script that admits a call, as a function. Rejects when Redis is away. */
export function createAdmission(redis: Redis): AdmitToRedis {
  const admit = defineHoldScript(redis, 'syAdmit', new URL('./admit.lua', import.meta.url))
  return async (request) => {
    const account = accountKeys(request.accountId)
    const period = request.allowancePeriod ?? ''
    const key = apiKeyKeys(request.accountId, request.keyId, period)
    const reply = await admit(
      [
        account.avail,
        account.held,
        account.holds,
        account.expiry,
        key.rate,
        key.open,
        key.left,
        account.rate,
        account.open,
        key.bodies,
        account.bodies,
        DISPATCH,
        admittedKey(request.callId),
      ],
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
        period === '' ? '0' : '1',
        request.keyId,
        period,
        request.accountRequestsPerMinute,
        request.accountConcurrentCalls,
        request.isRepeat ? '1' : '0',
        request.admitBy ?? '',
        request.body?.bytes ?? 0,
        request.body?.keyMax ?? 0,
        request.body?.accountMax ?? 0,
        ...jobArguments(request),
      ],
    )
    return readAnswer(reply as unknown[])
  }
}

function jobArguments({ callId, job }: AdmissionRequest): Array<string | number> {
  if (!job) return ['']
  const { share, step, lastStep } = job.turn
  const options = JSON.stringify(callJobOptions(callId)).slice(0, -1)
  return [job.data, options, job.nowMs, share, step, lastStep, PRIORITY_MAX, MARK_MS]
}

function readAnswer([
  outcome,
  limit,
  requests,
  tokens,
  reset,
  first,
  second,
  third,
  fourth,
]: unknown[]): AdmissionAnswer {
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
        isEnqueued: fourth === 1,
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
      const kind = outcome === 'balance' ? 'insufficient-balance' : 'allowance-spent'
      return { kind, availablePico: BigInt(first as string), affordableTokens: Number(second), rate }
    }
    case 'load-balance':
      return { kind: 'balance-unknown', rate }
    case 'load-allowance':
      return { kind: 'allowance-unknown', rate }
    case 'late':
      return { kind: 'too-late', rate }
    default:
      throw new Error(`admit.lua answered ${String(outcome)}`)
  }
}
