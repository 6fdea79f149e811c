import type { AdmissionOutcome, AdmissionRequest } from '../../src/billing/holds/admission.ts'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { type CallId, newCallId } from '../../src/core/kernel/ids.ts'
import { type Redis, redisOf } from '../../src/platform/redis/redis.ts'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'

/** What is asked of admission for a call of a key without limits. */
export const admissionOf = (accountId: string, more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  callId: newCallId(),
  accountId,
  keyId: 'key_test',
  holdLifetimeMs: 60_000,
  amountPico: 100n,
  flexible: false,
  promptPico: 0n,
  completionRate: 1n,
  completionLimit: 1,
  requestsPerMinute: 1_000_000,
  tokensPerMinute: 1_000_000_000,
  tokens: 1,
  concurrentCalls: 1_000_000,
  accountRequestsPerMinute: 1_000_000,
  accountConcurrentCalls: 1_000_000,
  budgets: [],
  ...more,
})

/** Holds an amount for a call, as admission does, for a key without limits. */
export const openHold = (
  redis: Redis,
  accountId: string,
  callId: CallId,
  amountPico: bigint,
  holdLifetimeMs = 60_000,
): Promise<AdmissionOutcome> =>
  createHoldStore(redis).admit(admissionOf(accountId, { callId, amountPico, holdLifetimeMs }))

/** How many calls of an account, or of one of its keys, take a place among the open ones. */
export async function openCalls(redis: Redis, accountId: string, keyId?: string): Promise<number> {
  const use = keyId === undefined ? 'use' : `use:${keyId}`
  const text = await redisOf(accountId, redis).hget(accountKeys(accountId, redis).record, use)
  return Number(text?.split(' ')[1] ?? 0)
}
