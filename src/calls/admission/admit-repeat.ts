import type { KeyRecord } from '../../accounts/key-cache.ts'
import type { RateState } from '../../billing/holds/admission.ts'
import { effectiveLimits } from '../../core/accounts/rate-limits.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { type AdmissionDependencies, AdmissionRefused } from './admit-call.ts'

/**
 * Admits a repeat of a call that runs or ran: it counts as one request of the rate limits of its key and account,
 * and holds nothing. Throws `rate_limit_exceeded`.
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
    allowancePeriod: null,
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
      throw new AdmissionRefused(refusal, answer.rate)
    }
    default:
      throw new Error(`a repeat was answered ${answer.kind}`)
  }
}
