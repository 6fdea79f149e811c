import { readFileSync } from 'node:fs'
import { type BudgetHolder, drawText } from '../../core/billing/budget.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { DISPATCH_QUEUE, storedJobOptions } from '../../platform/queues/queues.ts'
import { defineScript, type Redis, type RedisScript } from '../../platform/redis/redis.ts'
import {
  accountKeys,
  admittedKey,
  allowanceKey,
  apiKeyKeys,
  QUEUE_PREFIX,
} from '../../platform/redis/redis-keys.ts'

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
  /** What bounds it beside the balance, in the periods it is admitted in. */
  budgets: ReadonlyArray<BudgetHolder & { period: { id: string } }>
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
  /** A worker that has a slot for it and claims it in the same step, unless others wait. Absent: none. */
  claim?: { token: string; lockMs: number } | undefined
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

/** A refusal for requests or tokens per minute. */
export interface RateLimited {
  scope: LimitScope
  /** Until a call of the same size would be admitted. */
  retryAfterMs: number
}

export type AdmissionOutcome =
  | {
      kind: 'admitted'
      holdPico: bigint
      completionLimit: number
      /** With this one. */
      accountOpenCalls: number
      isEnqueued: boolean
      /** By the worker that was named with its job. */
      isClaimed: boolean
    }
  | { kind: 'rate-limited' | 'too-many-open' | 'too-heavy'; retryAfterMs: number; scope: LimitScope }
  | { kind: 'insufficient-balance'; availablePico: bigint; affordableTokens: number }
  /** By the budget of this index. */
  | { kind: 'allowance-spent'; availablePico: bigint; affordableTokens: number; budget: number }
  | { kind: 'balance-unknown' | 'too-late' }
  /** Of the budgets of these indices. */
  | { kind: 'allowance-unknown'; budgets: number[] }

export type AdmissionAnswer = AdmissionOutcome & { rate: RateState }

export type AdmitToRedis = (request: AdmissionRequest) => Promise<AdmissionAnswer>

/** The one Redis script that admits a call, as a function. Rejects when Redis is away. */
export function createAdmission(redis: Redis): AdmitToRedis {
  const admit = defineHoldScript(redis, 'syAdmit', new URL('./admit.lua', import.meta.url))
  return async (request) => {
    const account = accountKeys(request.accountId)
    const key = apiKeyKeys(request.accountId, request.keyId)
    const reply = await admit(
      [
        account.avail,
        account.held,
        account.holds,
        account.expiry,
        key.rate,
        key.open,
        account.rate,
        account.open,
        key.bodies,
        account.bodies,
        DISPATCH,
        admittedKey(request.callId),
        ...request.budgets.map((budget) => allowanceKey(budget, budget.period.id)),
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
      ],
    )
    return readAnswer(reply as unknown[])
  }
}

function jobArguments({ callId, job }: AdmissionRequest): Array<string | number> {
  if (!job) return ['']
  const { share, step, lastStep } = job.turn
  const { token = '', lockMs = 0 } = job.claim ?? {}
  const options = JSON.stringify(storedJobOptions(callId)).slice(0, -1)
  return [job.data, options, job.nowMs, share, step, lastStep, PRIORITY_MAX, MARK_MS, token, lockMs]
}

function readAnswer([outcome, limit, requests, tokens, reset, ...more]: unknown[]): AdmissionAnswer {
  const [first, second, third, fourth] = more
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
      throw new Error(`admit.lua answered ${String(outcome)}`)
  }
}

/** BullMQ's priorities: 0 goes before all others, 1 before 2, up to this one. */
export const PRIORITY_MAX = 2 ** 21 - 1

/** What each open call beyond the share counts as: a call that came so much later. */
const STEP_MS = 50

export interface QueueTurnSettings {
  /** Open calls of an account that wait in order of arrival. */
  accountQueueShare: number
  /** How long a call may wait for a worker. */
  queueWaitMs: number
}

/** When a call that comes now would have its turn. The script that admits it reckons its priority by this. */
export interface QueueTurn {
  /** Open calls of an account that wait in order of arrival. */
  share: number
  /** Its step of time, and the last one that it may be put off to. */
  step: number
  lastStep: number
}

/** The turn of a call that comes at `nowMs`. */
export const queueTurn = (nowMs: number, settings: QueueTurnSettings): QueueTurn => ({
  share: settings.accountQueueShare,
  step: Math.floor(nowMs / STEP_MS),
  lastStep: Math.floor((nowMs + settings.queueWaitMs / 2) / STEP_MS),
})

/**
 * A call's priority in the dispatch queue, so that one account's flood delays no other account. Calls of an account
 * with few open calls have none (0): they are served first, in order of arrival. Each one beyond the share is
 * queued as if it had come later, by a step for every open call too many; so several floods take turns. The step
 * ends at half the queue wait: however many calls its account has open, a call is overtaken only by calls that
 * come within that time. `openCalls` counts this call too. admit.lua does the same.
 *
 * Priorities come round every 29 hours (PRIORITY_MAX steps); calls beyond a share that wait at that moment are
 * overtaken by later ones, for as long as any are allowed to wait.
 */
export function queuePriority(openCalls: number, { share, step, lastStep }: QueueTurn): number {
  const beyond = openCalls - share
  return beyond <= 0 ? 0 : 1 + (Math.min(step + beyond, lastStep) % PRIORITY_MAX)
}

const read = (file: string | URL): string => readFileSync(new URL(file, import.meta.url), 'utf8')

/** The Lua functions over holds, which begin every script that opens, changes or closes one. */
const HOLDS = read('./holds.lua')

/** Defines a script over holds on a client; `file` is its URL. */
export const defineHoldScript = (redis: Redis, name: string, file: URL): RedisScript =>
  defineScript(redis, name, HOLDS + read(file))

export interface OpenHold {
  callId: string
  amountPico: bigint
  keyId: string
  /** The budgets that it was taken from, see drawText. */
  draws: string
}

/** Parses a field of the hash `holds`; see holds.lua for the format. */
export function parseHold(callId: string, hold: string): OpenHold {
  const [amount, , keyId, draws] = hold.split(':')
  if (amount === undefined || keyId === undefined || draws === undefined)
    throw new Error(`malformed hold ${callId}`)
  return { callId, amountPico: BigInt(amount), keyId, draws }
}
