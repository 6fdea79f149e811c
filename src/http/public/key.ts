import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { KeyRecord } from '../../accounts/key-cache.ts'
import { readBudget } from '../../billing/reports/budget-state.ts'
import type { Reports } from '../../billing/reports/reports.ts'
import { effectiveLimits, type LimitDefaults } from '../../core/accounts/api-key.ts'
import type { BudgetState } from '../../core/api/budgets.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { ExtendedKeyInfo, KeyInfo } from '../../core/api/keys.ts'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { allowancePeriod, LIMIT_RESETS } from '../../core/billing/allowance-period.ts'
import { type BudgetScope, budgetsOf, keyBudget } from '../../core/billing/budget.ts'
import { formatUsd, formatUsdOrNull } from '../../core/kernel/money.ts'
import { isoTimeOrNull } from '../../core/kernel/time.ts'
import { noStore } from '../account-api/account-access.ts'
import { askingKey } from '../plugins/authenticate.ts'
import { createSlots } from '../slots.ts'

const READS_MAX = 100
const READS_PER_ACCOUNT_MAX = 10

interface KeyDependencies {
  reports: Pick<Reports, 'spend' | 'credits' | 'allowances'>
  limits: LimitDefaults & { tokensPerMinute: number }
  clock: () => number
}

/** GET /v1/key: the limits of the calling key, what is left of them, and what its account can spend. At /v2 also `data`. */
export const keyRoute =
  (path: string, { isExtended }: Pick<Surface, 'isExtended'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { limits, clock } = app.accounts
    const { reports } = app.billing
    const slots = createSlots({
      max: READS_MAX,
      maxPerHolder: READS_PER_ACCOUNT_MAX,
      holderIsFull: 'This account has requests for its limits running. Wait for one to end.',
      allTaken: 'Too many requests for limits at once. Retry shortly.',
    })

    const schema = {
      summary: 'The limits of the key, what is left of them, and the balance',
      response: { 200: isExtended ? ExtendedKeyInfo : KeyInfo },
    }
    app.get(path, { onRequest: [app.requireKey], onSend: noStore, schema }, async (request) => {
      const key = askingKey(request)
      return slots.run(key.accountId ?? key.keyId, async () => {
        const period = allowancePeriod(key.limitReset, clock())
        const states = await budgetStates(key, reports, clock())
        const used = async () => {
          const { spentPico } = await reports.spend.spending(
            keyBudget(key.accountId ?? '', key.keyId),
            period,
            [],
          )
          return formatUsd(spentPico)
        }
        const credits = key.accountId === null ? null : await reports.credits.find(key.accountId)
        const info = {
          id: key.keyId,
          object: 'key' as const,
          name: key.name,
          limit_usd: formatUsdOrNull(key.limitPico),
          used_usd: states.key?.used_usd ?? (await used()),
          remaining_usd: states.key?.remaining_usd ?? null,
          available_balance_usd: formatUsdOrNull(credits?.availablePico ?? null),
          limit_reset: key.limitReset,
          resets_at: isoTimeOrNull(period.endsAt),
          member_budget: states.member ?? null,
          spend_cap: states.account ?? null,
          expires_at: isoTimeOrNull(key.expiresAt),
          allowed_models: key.allowList?.models ? [...key.allowList.models.ids] : null,
          allowed_providers: key.allowList?.providers ? [...key.allowList.providers] : null,
          scopes: [...key.scopes],
          rate_limits: jsonView(KeyInfo.properties.rate_limits, {
            ...effectiveLimits(key, limits),
            tokensPerMinute: limits.tokensPerMinute,
          }),
        }
        return isExtended ? { ...info, data: await routerKey(key, info, reports, clock()) } : info
      })
    })
  }

/** What the libraries of other routers read of a key: amounts as numbers, and no more than is known here. */
async function routerKey(
  key: KeyRecord,
  info: Pick<ExtendedKeyInfo, 'limit_usd' | 'remaining_usd' | 'expires_at' | 'rate_limits'>,
  { spend }: KeyDependencies['reports'],
  nowMs: number,
): Promise<ExtendedKeyInfo['data']> {
  const spent = await Promise.all(
    LIMIT_RESETS.map(async (reset) => {
      const budget = keyBudget(key.accountId ?? '', key.keyId)
      const { spentPico } = await spend.spending(budget, allowancePeriod(reset, nowMs), [])
      return [reset, Number(formatUsd(spentPico))] as const
    }),
  )
  const usage = Object.fromEntries(spent) as Record<(typeof LIMIT_RESETS)[number], number>
  const numberOf = (usd: string | null) => (usd === null ? null : Number(usd))
  return {
    label: key.name,
    limit: numberOf(info.limit_usd),
    limit_remaining: numberOf(info.remaining_usd),
    limit_reset: key.limitReset === 'none' ? null : key.limitReset,
    usage: usage.none,
    usage_daily: usage.daily,
    usage_weekly: usage.weekly,
    usage_monthly: usage.monthly,
    // What calls on BYOK keys cost here is the routing fee, which is in `usage` and in the limit.
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    include_byok_in_limit: true,
    is_free_tier: false,
    is_management_key: key.kind === 'admin',
    is_provisioning_key: false,
    expires_at: info.expires_at,
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    allowed_data_regions: [],
    creator_user_id: null,
    organization_id: null,
    workspace_id: null,
    rate_limit: {
      requests: info.rate_limits.requests_per_minute,
      interval: '1m',
      note: 'The limits in effect are in `rate_limits`.',
    },
  }
}

/** The budgets that bound the calls of a key, by owner. */
async function budgetStates(
  key: KeyRecord,
  reports: KeyDependencies['reports'],
  nowMs: number,
): Promise<Partial<Record<BudgetScope, BudgetState>>> {
  const { accountId } = key
  const budgets = accountId === null ? [] : budgetsOf({ ...key, accountId }, nowMs)
  const states = budgets.map(async (budget) => {
    const { spentPico, leftPico } = await readBudget(budget, reports)
    const state: BudgetState = {
      limit_usd: formatUsd(budget.limitPico),
      used_usd: formatUsd(spentPico),
      remaining_usd: formatUsd(leftPico),
      resets_at: isoTimeOrNull(budget.period.endsAt),
    }
    return [budget.scope, state] as const
  })
  return Object.fromEntries(await Promise.all(states))
}
