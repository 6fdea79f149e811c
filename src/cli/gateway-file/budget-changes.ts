import type { Account } from '../../accounts/account-store.ts'
import type { SpentGroup } from '../../accounts/self-service/group-budgets.ts'
import { formatUsdOrNull, parseUsd } from '../../core/kernel/money.ts'
import { type Change, describe, differing, done, isEmpty, type PlanServices } from './difference.ts'
import type { AccountEntry, BudgetEntry } from './gateway-document.ts'

const budgetEntry = ({ scope, value, tag, limitPico, limitReset }: SpentGroup) => ({
  ...{ scope, value, tag: value === null ? tag : null },
  ...{ limit_usd: formatUsdOrNull(limitPico), limit_reset: limitReset },
})

/** The budgets of an account, without those of values that have no limit of their own. */
export const budgetEntries = async (
  { groupBudgets }: PlanServices,
  accountId: string,
): Promise<BudgetEntry[]> =>
  (await groupBudgets.list(accountId)).filter(({ hasLimitOfRule }) => !hasLimitOfRule).map(budgetEntry)

/** What an entry would change of the budgets of projects, tags and end users. Those of every value come before those of single ones. */
export async function budgetChanges(
  { groupBudgets, auditLog, operator }: PlanServices,
  { account, budgets: wanted = [] }: AccountEntry,
  found: Account | null,
  idOf: () => string,
): Promise<Change[]> {
  const present = found ? (await groupBudgets.list(found.id)).map(budgetEntry) : []
  const inOrder = [...wanted].sort((one, other) => (one.value ? 1 : 0) - (other.value ? 1 : 0))
  return inOrder.flatMap(({ scope, value = null, tag = null, limit_usd = null, limit_reset }): Change[] => {
    const before = present.find((other) => other.scope === scope && other.value === value)
    const limitReset = limit_reset ?? before?.limit_reset ?? 'monthly'
    const edit = differing({ tag, limit_usd, limit_reset: limitReset }, before ?? {})
    if (before && isEmpty(edit)) return []
    const details = { scope, value, tag, limit_usd, limit_reset: limitReset }
    const limitPico = limit_usd === null ? null : parseUsd(limit_usd)
    const make = () => {
      const action = { action: 'account.budget', target: idOf(), details }
      const set = () => groupBudgets.set(idOf(), { scope, value, tag, limitPico, limitReset })
      return done(auditLog.auditedAction(operator, action, set))
    }
    const name = `budget of ${scope} ${value ?? tag ?? ''}`.trim()
    return [{ text: `${account}: ${name}: ${before ? describe(edit, before) : 'new'}`, make }]
  })
}
