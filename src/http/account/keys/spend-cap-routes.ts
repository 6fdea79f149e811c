import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Account } from '../../../accounts/account-store.ts'
import { readBudget } from '../../../billing/reports/budget-state.ts'
import type { Reports } from '../../../billing/reports/reports.ts'
import { SpendCapBody, SpendCapView } from '../../../core/api/budgets.ts'
import { readUsd } from '../../../core/api/request-fields.ts'
import { allowancePeriod } from '../../../core/billing/allowance-period.ts'
import { accountBudget, MONTHLY } from '../../../core/billing/budget.ts'
import { formatUsd, formatUsdOrNull } from '../../../core/kernel/money.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import { actingOn } from '../../plugins/session.ts'

export const spendCapRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { monthlyBudgets, clock } = app.accounts
  const { reports } = app.billing

  const reading = { onRequest: [app.requirePermission('view')], schema: { response: { 200: SpendCapView } } }
  app.get('/spend-cap', reading, (request) => spendCapView(actingOn(request).account, reports, clock()))

  const setting = {
    onRequest: [app.requirePermission('limits')],
    schema: { body: SpendCapBody, response: { 200: SpendCapView } },
  }
  app.patch('/spend-cap', setting, async (request) => {
    const { account } = actingOn(request)
    const monthlyLimitPico = readUsd(request.body.limit_usd)
    await monthlyBudgets.setSpendCap(account.id, monthlyLimitPico)
    await app.recordAction(request, 'spend_cap.set', account.id, {
      limit_usd: formatUsdOrNull(monthlyLimitPico),
    })
    return spendCapView({ ...account, monthlyLimitPico }, reports, clock())
  })
}

async function spendCapView(
  { id, monthlyLimitPico }: Pick<Account, 'id' | 'monthlyLimitPico'>,
  reports: Pick<Reports, 'spend' | 'allowances'>,
  nowMs: number,
): Promise<SpendCapView> {
  const period = allowancePeriod(MONTHLY, nowMs)
  const budget = { ...accountBudget(id), limitPico: monthlyLimitPico ?? 0n, period }
  const { spentPico, leftPico } = await readBudget(budget, reports)
  return {
    limit_usd: formatUsdOrNull(monthlyLimitPico),
    spent_usd: formatUsd(spentPico),
    remaining_usd: monthlyLimitPico === null ? null : formatUsd(leftPico),
    resets_at: isoTime(period.endsAt ?? 0),
  }
}
