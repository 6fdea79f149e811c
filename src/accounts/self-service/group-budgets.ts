import { VALUES_MAX } from '../../billing/holds/group-limits.ts'
import {
  allowancePeriod,
  keptPeriods,
  LIMIT_RESETS,
  type LimitReset,
  totalsOf,
} from '../../core/billing/allowance-period.ts'
import type { BudgetHolder } from '../../core/billing/budget.ts'
import { tagValue } from '../../core/billing/group.ts'
import type { GroupScope } from '../../core/billing/group-scopes.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { ApplyBudgetChange } from './budget-change.ts'

/** What a budget is of: a project, a value of the tag or an end user; null: every value of it. */
export interface GroupName {
  scope: GroupScope
  value: string | null
}

export interface GroupBudgetChange extends GroupName {
  /** Of the rule for tags: the member of `metadata`. */
  tag: string | null
  /** Null: no limit, or for a value that of the rule. */
  limitPico: bigint | null
  /** Of values that of the rule. */
  limitReset: LimitReset
}

/** A budget with what its group spent in the current period. */
export interface SpentGroup extends GroupBudgetChange {
  /** As budgets name it, see BudgetHolder; empty: the rule. */
  id: string
  /** Whether it is a value without a limit of its own. */
  hasLimitOfRule: boolean
  spentPico: bigint
  calls: number
  /** Active keys of the project. */
  keys: number
}

interface GroupRow {
  scope: GroupScope
  value: string
  tag: string | null
  limit: string | null
  hasLimitOfRule: boolean
  reset: LimitReset
  spent: string
  calls: number
  keys: number
}

/** `$2`: the totals of each period, by reset; `$3`, `$4`: of one budget, or null. Values go with their rule. */
const LIST = `
SELECT budget.scope, budget.value, coalesce(budget.tag, rule.tag) AS tag,
       coalesce(budget.limit_pico, rule.limit_pico)::text AS "limit",
       rule.value IS NOT NULL AND budget.limit_pico IS NULL AS "hasLimitOfRule",
       coalesce(rule.limit_reset, budget.limit_reset)::text AS reset,
       coalesce(sum(total.spent_pico), 0)::text AS spent, coalesce(sum(total.charged_calls), 0)::int AS calls,
       CASE WHEN budget.scope = 'project' THEN (
         SELECT count(*)::int FROM api_keys AS key
         WHERE key.account_id = $1 AND key.project = budget.value AND key.state = 'active'
       ) ELSE 0 END AS keys
FROM group_budgets AS budget
LEFT JOIN group_budgets AS rule ON rule.account_id = $1 AND rule.scope = budget.scope AND rule.value = '' AND budget.value <> ''
LEFT JOIN spend_totals AS total ON total.account_id = $1 AND budget.value <> ''
  AND total.key_id = budget.scope || ':' || budget.value
  AND total.period = ANY (ARRAY(
    SELECT jsonb_array_elements_text($2::jsonb -> coalesce(rule.limit_reset, budget.limit_reset)::text)))
WHERE budget.account_id = $1 AND ($3::text IS NULL OR budget.scope = $3 AND budget.value = $4)
GROUP BY budget.account_id, budget.scope, budget.value, rule.account_id, rule.scope, rule.value
ORDER BY budget.scope, budget.value <> '', sum(total.spent_pico) DESC NULLS LAST, budget.value`

/** Budgets of projects, of the values of a tag and of end users. A change resolves once every instance applies it. */
export type GroupBudgets = ReturnType<typeof createGroupBudgets>

export function createGroupBudgets(options: {
  postgres: Postgres
  applyBudgetChange: ApplyBudgetChange
  clock: () => number
}) {
  const { postgres, applyBudgetChange, clock } = options

  const ofScope = (accountId: string, scope: GroupScope) =>
    postgres.groupBudget.findMany({ where: { accountId, scope } })
  type Row = Awaited<ReturnType<typeof ofScope>>[number]

  /** Has the allowances that a change of these rows concerns computed again. */
  const apply = (accountId: string, rows: readonly Row[], resets: readonly LimitReset[]) => {
    const holders = rows
      .filter(({ value }) => value !== '')
      .map(({ scope, value }): BudgetHolder => ({ accountId, scope: scope as GroupScope, id: value }))
    const periods = [...new Set(resets)].flatMap((reset) => keptPeriods(reset, clock()))
    return applyBudgetChange({ accountId }, holders, periods)
  }

  return {
    async list(accountId: string, only?: Pick<SpentGroup, 'scope' | 'id'>): Promise<SpentGroup[]> {
      const periods = LIMIT_RESETS.map((reset) => [reset, totalsOf(allowancePeriod(reset, clock()))])
      const rows = await postgres.$queryRawUnsafe<GroupRow[]>(
        LIST,
        accountId,
        JSON.stringify(Object.fromEntries(periods)),
        ...[only?.scope ?? null, only?.id ?? null],
      )
      return rows.map(({ value: id, tag, limit, reset, spent, ...row }) => ({
        ...row,
        id,
        tag,
        value: id === '' ? null : tag === null ? id : id.slice(tag.length + 1),
        limitPico: limit === null ? null : BigInt(limit),
        limitReset: reset,
        spentPico: BigInt(spent),
      }))
    },

    /** Creates or changes a budget; resolves with its id. A tag of another name starts without values. Throws ApiError. */
    async set(
      accountId: string,
      { scope, value, tag, limitPico, limitReset }: GroupBudgetChange,
    ): Promise<string> {
      const before = await ofScope(accountId, scope)
      const rule = before.find((row) => row.value === '')
      if (value === null) {
        const isOther = rule !== undefined && rule.tag !== tag
        if (isOther) await postgres.groupBudget.deleteMany({ where: { accountId, scope } })
        const key = { accountId, scope, value: '' }
        const settings = { tag, limitPico, limitReset }
        await postgres.groupBudget.upsert({
          where: { accountId_scope_value: key },
          create: { ...key, ...settings },
          update: settings,
        })
        await apply(accountId, before, [limitReset, rule?.limitReset ?? limitReset])
        return ''
      }
      if (scope !== 'project' && !rule)
        throw invalid('value', 'Set the budget of every value first, without `value`; it may have no limit.')
      const id = rule?.tag ? tagValue(rule.tag, value) : value
      const key = { accountId, scope, value: id }
      const found = before.find((row) => row.value === id)
      if (!found && before.length > VALUES_MAX)
        throw invalid('value', `An account has at most ${VALUES_MAX} of them. Delete one first.`)
      const settings = { limitPico, limitReset: rule?.limitReset ?? limitReset }
      const changed = await postgres.groupBudget.upsert({
        where: { accountId_scope_value: key },
        create: { ...key, ...settings },
        update: settings,
      })
      await apply(accountId, [changed], [changed.limitReset, found?.limitReset ?? changed.limitReset])
      return id
    },

    /**
     * Deletes a budget: of a project, whose keys have none then; of a value, which has that of the rule; or the rule with its
     * values. Throws ApiError `not_found`.
     */
    async remove(accountId: string, { scope, value }: GroupName): Promise<void> {
      const before = await ofScope(accountId, scope)
      const rule = before.find((row) => row.value === '')
      const id = value === null ? '' : rule?.tag ? tagValue(rule.tag, value) : value
      const found = before.find((row) => row.value === id)
      if (!found) throw new ApiError('not_found', 'This account has no such budget.')
      const where = { accountId, scope, ...(value !== null && { value: id }) }
      await postgres.$transaction([
        postgres.groupBudget.deleteMany({ where }),
        postgres.apiKey.updateMany({
          where: { accountId, project: scope === 'project' ? id : '' },
          data: { project: null },
        }),
      ])
      const resets = [found.limitReset, rule?.limitReset ?? found.limitReset]
      return apply(accountId, value === null ? before : [found], resets)
    },

    /** Throws ApiError if an account has no project of this name. */
    async expectProject(accountId: string, value: string | null): Promise<void> {
      if (value === null) return
      const key = { accountId, scope: 'project', value }
      if (!(await postgres.groupBudget.findUnique({ where: { accountId_scope_value: key } })))
        throw invalid('project', 'This account has no project of this name. Create it first.')
    },
  }
}
