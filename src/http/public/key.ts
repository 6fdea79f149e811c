import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { KeyRecord } from '../../accounts/key-cache.ts'
import type { Reports } from '../../billing/reports/reports.ts'
import { effectiveLimits, type LimitDefaults } from '../../core/accounts/api-key.ts'
import { KeyInfo } from '../../core/api/keys.ts'
import { type AllowancePeriod, allowancePeriod } from '../../core/billing/allowance-period.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTimeOrNull } from '../../core/kernel/time.ts'
import { noStore } from '../asking-account.ts'
import { askingKey } from '../plugins/authenticate.ts'
import { createSlots } from '../slots.ts'

const READS_MAX = 100
const READS_PER_KEY_MAX = 10

interface KeyDependencies {
  reports: Pick<Reports, 'spend' | 'credits' | 'allowance'>
  limits: LimitDefaults & { tokensPerMinute: number }
  clock: () => number
}

/** GET /v1/key: the limits of the key that asks, how much of them is left, and what its account can spend. */
export const keyRoute =
  (path: string): FastifyPluginAsyncTypebox<KeyDependencies> =>
  async (app, { reports, limits, clock }) => {
    const slots = createSlots({
      max: READS_MAX,
      maxPerHolder: READS_PER_KEY_MAX,
      holderIsFull: 'This key has requests for its limits running. Wait for one to end.',
      allTaken: 'Too many requests for limits at once. Retry shortly.',
    })

    const schema = {
      summary: 'The limits of the key, what is left of them, and the balance',
      response: { 200: KeyInfo },
    }
    app.get(path, { onRequest: [app.requireKey], onSend: noStore, schema }, async (request) => {
      const key = askingKey(request)
      return slots.run(key.keyId, async () => {
        const period = allowancePeriod(key.limitReset, clock())
        const { spentPico } = await reports.spend.spending(key.keyId, period, [])
        const left = await leftOf(key, period, spentPico, reports)
        const effective = effectiveLimits(key, limits)
        const credits = key.accountId === null ? null : await reports.credits.find(key.accountId)
        return {
          id: key.keyId,
          object: 'key',
          name: key.name,
          limit_usd: usdOrNull(key.limitPico),
          used_usd: usdOrNull(spentPico),
          remaining_usd: usdOrNull(left),
          available_balance_usd: usdOrNull(credits?.availablePico ?? null),
          limit_reset: key.limitReset,
          resets_at: isoTimeOrNull(period.endsAt),
          expires_at: isoTimeOrNull(key.expiresAt),
          allowed_models: key.allowList?.models ? [...key.allowList.models.ids] : null,
          allowed_providers: key.allowList?.providers ? [...key.allowList.providers] : null,
          rate_limits: {
            requests_per_minute: effective.requestsPerMinute,
            tokens_per_minute: limits.tokensPerMinute,
            concurrent_calls: effective.concurrentCalls,
            account_requests_per_minute: effective.accountRequestsPerMinute,
            account_concurrent_calls: effective.accountConcurrentCalls,
          },
        }
      })
    })
  }

/**
 * What the next call may cost: the balance cache's own figure, which leaves out what open calls hold, or where it has
 * none the limit less what was spent. Null without a limit.
 */
async function leftOf(
  { keyId, accountId, limitPico }: KeyRecord,
  period: AllowancePeriod,
  spentPico: bigint,
  { allowance }: Pick<Reports, 'allowance'>,
): Promise<bigint | null> {
  if (accountId === null || limitPico === null) return null
  // Without Redis no call is admitted; the ledger still says what is left.
  const known = await allowance({ keyId, accountId }, period).catch(() => null)
  const left = known ?? limitPico - spentPico
  return left < 0n ? 0n : left
}

const usdOrNull = (amountPico: bigint | null) => (amountPico === null ? null : formatUsd(amountPico))
