import { type AllowancePeriod, allowancePeriod, type LimitReset } from './allowance-period.ts'

/** The calls that a budget bounds: of one key, of all keys that a member created, or of all keys of an account. */
export type BudgetScope = 'key' | 'member' | 'account'

/** The owner of a budget. */
export interface BudgetHolder {
  scope: BudgetScope
  accountId: string
  /** Id of the key, of the member (the personal account), or of the account. */
  id: string
}

/** The maximum spending in a period, pico-USD: a key's spending limit, a member's budget or an account's spend cap. */
export interface Budget extends BudgetHolder {
  limitPico: bigint
}

/** A budget in the current period. */
export interface RunningBudget extends Budget {
  period: AllowancePeriod
}

/** The data of a key that determine its budgets; null: no such budget. */
export interface BudgetedKey {
  keyId: string
  limitPico: bigint | null
  limitReset: LimitReset
  /** The budget of the member who created it. */
  memberBudget: { memberId: string; limitPico: bigint } | null
  /** The spend cap of the account. */
  accountLimitPico: bigint | null
}

/** Budgets of members and accounts are reset monthly. */
export const MONTHLY: LimitReset = 'monthly'

export const keyBudget = (accountId: string, keyId: string): BudgetHolder => ({
  scope: 'key',
  accountId,
  id: keyId,
})
export const memberBudget = (accountId: string, memberId: string): BudgetHolder => ({
  scope: 'member',
  accountId,
  id: memberId,
})
export const accountBudget = (accountId: string): BudgetHolder => ({
  scope: 'account',
  accountId,
  id: accountId,
})

/** The budgets that bound the calls of a key at a time, unix ms: of the key, of its member, of its account. */
export function budgetsOf(key: BudgetedKey & { accountId: string }, nowMs: number): RunningBudget[] {
  const { accountId, keyId, limitPico, limitReset, accountLimitPico } = key
  const budgets: RunningBudget[] = []
  const add = (holder: BudgetHolder, limit: bigint | null, reset: LimitReset) => {
    if (limit !== null) budgets.push({ ...holder, limitPico: limit, period: allowancePeriod(reset, nowMs) })
  }
  const member = key.memberBudget
  add(keyBudget(accountId, keyId), limitPico, limitReset)
  if (member) add(memberBudget(accountId, member.memberId), member.limitPico, MONTHLY)
  add(accountBudget(accountId), accountLimitPico, MONTHLY)
  return budgets
}

/**
 * The budgets that a hold was taken from, as text: of the key `<period>`, of its member `<member>@<period>`, of its
 * account `@<period>`; separated by commas. holds.lua parses it.
 */
export const drawText = (budgets: ReadonlyArray<BudgetHolder & { period: { id: string } }>): string =>
  budgets
    .map(({ scope, id, period }) => {
      if (scope === 'key') return period.id
      return scope === 'member' ? `${id}@${period.id}` : `@${period.id}`
    })
    .join(',')

/** The period of a scope's budget in such a text; null if the hold was not taken from one. */
export function drawnPeriod(text: string, scope: BudgetScope): string | null {
  for (const entry of text.split(',')) {
    const at = entry.indexOf('@')
    const of: BudgetScope = at < 0 ? 'key' : at === 0 ? 'account' : 'member'
    if (of === scope && entry !== '') return entry.slice(at + 1)
  }
  return null
}
