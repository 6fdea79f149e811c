import type { BudgetScope, RunningBudget } from '../../core/billing/budget.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { isoTime } from '../../core/kernel/time.ts'

const NAMES: Record<BudgetScope, string> = {
  key: "The key's spending limit",
  member: 'The monthly budget of the member who made this key',
  account: "The account's monthly spend cap",
}

/** The error for a call that a budget does not cover: the owner of the budget, and when it resets. */
export function budgetRefusal(
  { scope, period }: RunningBudget,
  affordableTokens: number,
  metadata: Record<string, string | number>,
): ApiError {
  const resetsAt = period.endsAt === null ? null : isoTime(period.endsAt)
  const reset = resetsAt === null ? '' : ` It resets at ${resetsAt}.`
  const lower = affordableTokens > 0 ? ', or lower the token limit' : ''
  return new ApiError(
    'key_limit_exceeded',
    `${NAMES[scope]} does not cover the maximum cost of this call.${reset} Raise it${lower}.`,
    { metadata: { ...metadata, limited_by: scope, ...(resetsAt !== null && { resets_at: resetsAt }) } },
  )
}
