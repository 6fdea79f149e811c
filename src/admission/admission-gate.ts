import { readFileSync } from 'node:fs'
import type { CallId } from '../core/ids.ts'
import { defineScript, type Redis } from '../platform/redis.ts'
import { accountKeys, apiKeyKeys } from '../platform/redis-keys.ts'

/** What one call asks of the gate. */
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
  /** Null: the key has no spending limit. */
  allowancePeriod: string | null
}

/** What is left of the key's rate limits, for the response headers. */
export interface RateFigures {
  remainingRequests: number
  remainingTokens: number
  /** When both windows are whole again. */
  resetMs: number
}

export type AdmissionOutcome =
  | { kind: 'admitted'; holdPico: bigint; completionLimit: number }
  | { kind: 'rate-limited' | 'too-many-open'; retryAfterMs: number }
  | { kind: 'insufficient-balance' | 'allowance-spent'; availablePico: bigint; affordableTokens: number }
  | { kind: 'balance-unknown' | 'allowance-unknown' }

export type AdmissionAnswer = AdmissionOutcome & { rate: RateFigures }

const ADMIT = readFileSync(new URL('./admit.lua', import.meta.url), 'utf8')

export type AdmissionGate = (request: AdmissionRequest) => Promise<AdmissionAnswer>

/** The one Redis script that admits a call, as a function. Rejects when Redis is away. */
export function createAdmissionGate(redis: Redis): AdmissionGate {
  const admit = defineScript(redis, 'syAdmit', ADMIT)
  return async (request) => {
    const account = accountKeys(request.accountId)
    const period = request.allowancePeriod ?? ''
    const key = apiKeyKeys(request.accountId, request.keyId, period)
    const reply = await admit(
      [account.avail, account.held, account.holds, account.expiry, key.rate, key.open, key.left],
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
      ],
    )
    return readAnswer(reply as unknown[])
  }
}

function readAnswer([outcome, requests, tokens, reset, first, second]: unknown[]): AdmissionAnswer {
  const rate = {
    remainingRequests: Number(requests),
    remainingTokens: Number(tokens),
    resetMs: Number(reset),
  }
  switch (outcome) {
    case 'ok':
      return { kind: 'admitted', holdPico: BigInt(first as string), completionLimit: Number(second), rate }
    case 'rate':
      return { kind: 'rate-limited', retryAfterMs: Number(first), rate }
    case 'concurrency':
      return { kind: 'too-many-open', retryAfterMs: Number(first), rate }
    case 'balance':
    case 'allowance': {
      const kind = outcome === 'balance' ? 'insufficient-balance' : 'allowance-spent'
      return { kind, availablePico: BigInt(first as string), affordableTokens: Number(second), rate }
    }
    case 'load-balance':
      return { kind: 'balance-unknown', rate }
    case 'load-allowance':
      return { kind: 'allowance-unknown', rate }
    default:
      throw new Error(`admit.lua answered ${String(outcome)}`)
  }
}
