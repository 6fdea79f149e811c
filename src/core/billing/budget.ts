import { createHash } from 'node:crypto'
import { type AllowancePeriod, allowancePeriod, type LimitReset } from './allowance-period.ts'
import { type GroupRule, groupOf, UNLIMITED_PICO } from './group.ts'
import { GROUP_SCOPES, type GroupScope, isGroupScope } from './group-scopes.ts'

/** The calls that a budget bounds: of one key, of all keys that a member created, of a group, or of all keys of an account. */
export type BudgetScope = 'key' | 'member' | 'account' | GroupScope

/** The owner of a budget. */
export interface BudgetHolder {
  scope: BudgetScope
  accountId: string
  /** Id of the key, of the member (the personal account), or of the account; of a group its name or value. */
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
  /** Its project, and the rules for the values that its calls name; absent: none. */
  groups?: readonly GroupRule[]
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

export const groupBudgets = (accountId: string, named: readonly string[]): BudgetHolder[] =>
  GROUP_SCOPES.flatMap((scope) => {
    const id = groupOf(named, scope)
    return id === undefined ? [] : [{ scope, accountId, id }]
  })

/**
 * The budgets that bound a call of a key at a time, unix ms: of the key, of its member, of its account, of its groups.
 * @param named the groups of the call, see readCallGroups
 */
export function budgetsOf(
  key: BudgetedKey & { accountId: string },
  nowMs: number,
  named: readonly string[] = [],
): RunningBudget[] {
  const { accountId, keyId, limitPico, limitReset, accountLimitPico } = key
  const budgets: RunningBudget[] = []
  const add = (holder: BudgetHolder, limit: bigint | null, reset: LimitReset) => {
    if (limit !== null) budgets.push({ ...holder, limitPico: limit, period: allowancePeriod(reset, nowMs) })
  }
  const member = key.memberBudget
  add(keyBudget(accountId, keyId), limitPico, limitReset)
  if (member) add(memberBudget(accountId, member.memberId), member.limitPico, MONTHLY)
  add(accountBudget(accountId), accountLimitPico, MONTHLY)
  for (const holder of named.length > 0 ? groupBudgets(accountId, named) : []) {
    const rule = key.groups?.find(({ scope }) => scope === holder.scope)
    // Without a limit there is an allowance too, so that a limit set later knows the calls that run.
    if (rule) add(holder, rule.limitPico ?? UNLIMITED_PICO, rule.limitReset)
  }
  return budgets
}

const DIGEST_CHARS = 22

/** A group within its account as Redis names it: `p.`, `t.` or `u.` and a hash, since values may have any characters. */
export const groupName = ({ scope, id }: Pick<BudgetHolder, 'scope' | 'id'>): string =>
  `${scope[0]}.${createHash('sha256').update(id).digest('base64url').slice(0, DIGEST_CHARS)}`

/**
 * The budgets that a hold was taken from, as text: of the key `<period>`, of its member `<member>@<period>`, of its
 * account `@<period>`, of a group `<group name>@<period>`; separated by commas. holds.lua parses it.
 */
export const drawText = (budgets: ReadonlyArray<BudgetHolder & { period: { id: string } }>): string =>
  budgets
    .map((budget) => {
      const { scope, id, period } = budget
      if (scope === 'key') return period.id
      if (isGroupScope(scope)) return `${groupName(budget)}@${period.id}`
      return scope === 'member' ? `${id}@${period.id}` : `@${period.id}`
    })
    .join(',')

/** The period of a scope's budget in such a text; null if the hold was not taken from one. */
export function drawnPeriod(text: string, scope: BudgetScope): string | null {
  for (const entry of text.split(',')) {
    const at = entry.indexOf('@')
    const isOf =
      isGroupScope(scope) || entry[1] === '.'
        ? entry.startsWith(`${scope[0]}.`)
        : scope === (at < 0 ? 'key' : at === 0 ? 'account' : 'member')
    if (isOf && entry !== '') return entry.slice(at + 1)
  }
  return null
}
