import type { AdmissionOutcome } from '../../src/billing/holds/admission.ts'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import type { CallId } from '../../src/core/kernel/ids.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'

/** Holds an amount for a call, as admission does, for a key without limits. */
export async function openHold(
  redis: Redis,
  accountId: string,
  callId: CallId,
  amountPico: bigint,
  holdLifetimeMs = 60_000,
): Promise<AdmissionOutcome> {
  return createHoldStore(redis).admit({
    callId,
    accountId,
    keyId: 'key_test',
    holdLifetimeMs,
    amountPico,
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
  })
}
