import { type AllowancePeriod, keptPeriods, type LimitReset } from '../../core/billing/allowance-period.ts'
import { accountBudget, type Budget, keyBudget, MONTHLY, memberBudget } from '../../core/billing/budget.ts'
import { UNLIMITED_PICO } from '../../core/billing/group.ts'
import { isGroupScope } from '../../core/billing/group-scopes.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { AllowanceStore } from '../holds/allowance-store.ts'
import type { HoldStore } from '../holds/hold-store.ts'
import { type Discrepancy, SAMPLES } from './audit-findings.ts'

const ROWS_AT_ONCE = 500
const BY_ID = { orderBy: { id: 'asc' }, take: ROWS_AT_ONCE } as const
const EXACT = 'what Redis lets every budget still spend is the budget less what was spent and the open holds'

/**
 * Compares allowances in Redis with the ledger, for the current period and for an hour of the previous one. Exact while
 * calls run. With `forget` it repairs a wrong allowance by deleting it, since it is loaded again on its next use. It also
 * deletes the allowances of recently revoked keys.
 */
export function openAllowanceAudit(deps: {
  postgres: Postgres
  allowances: Pick<AllowanceStore, 'check'>
  clock: () => number
  forget?: HoldStore['forgetAllowance']
}) {
  const { postgres, allowances, clock, forget } = deps
  const found: Discrepancy[] = []
  return {
    async compare(accountIds: readonly string[]) {
      if (accountIds.length === 0) return
      for await (const { budget, period, isRevoked } of budgetsOf(accountIds, postgres, clock)) {
        if (isRevoked) {
          await forget?.(budget, period)
          continue
        }
        const known = await allowances.check(budget, period)
        if (known === null || known.left === known.shouldBe) continue
        const detail = `left ${known.left} in ${period.id}, should be ${known.shouldBe}`
        const { scope, id, accountId } = budget
        const subject = scope === 'member' || isGroupScope(scope) ? `${id} in ${accountId}` : id
        found.push({ check: EXACT, subject, detail })
        await forget?.(budget, period)
      }
    },
    result: () => ({ name: EXACT, broken: found.length, discrepancies: found.slice(0, SAMPLES) }),
  }
}

interface AuditedBudget {
  budget: Budget
  period: AllowancePeriod
  /** Its key is revoked: nothing may be spent of it. */
  isRevoked?: boolean
}

/** The allowances of keys revoked earlier are deleted already. */
const REVOKED_LATELY_MS = 2 * DAY_MS

async function* budgetsOf(
  accountIds: readonly string[],
  postgres: Postgres,
  clock: () => number,
): AsyncIterable<AuditedBudget> {
  const ofThese = { in: [...accountIds] }
  const keys = (after: string) =>
    postgres.apiKey.findMany({
      where: {
        id: { gt: after },
        limitPico: { not: null },
        accountId: ofThese,
        OR: [{ revokedAt: null }, { revokedAt: { gt: new Date(clock() - REVOKED_LATELY_MS) } }],
      },
      select: { id: true, accountId: true, limitPico: true, limitReset: true, revokedAt: true },
      ...BY_ID,
    })
  for await (const { id, accountId, limitPico, limitReset, revokedAt } of inPortions(keys, ({ id }) => id)) {
    if (accountId === null || limitPico === null) continue
    const budget = { ...keyBudget(accountId, id), limitPico }
    for (const period of keptPeriods(limitReset, clock()))
      yield { budget, period, isRevoked: revokedAt !== null }
  }
  for await (const budget of monthlyBudgets(accountIds, postgres))
    for (const period of keptPeriods(MONTHLY, clock())) yield { budget, period }
  for await (const [budget, reset] of groupBudgets(accountIds, postgres))
    for (const period of keptPeriods(reset, clock())) yield { budget, period }
}

/** The budgets of projects and of values; those of a rule are of its period, and without a limit have its limit. */
async function* groupBudgets(
  accountIds: readonly string[],
  postgres: Postgres,
): AsyncIterable<[Budget, LimitReset]> {
  const where = { accountId: { in: [...accountIds] } }
  for (const { accountId } of await postgres.groupBudget.groupBy({ by: 'accountId', where })) {
    const rows = await postgres.groupBudget.findMany({ where: { accountId } })
    for (const { scope, value, ...own } of rows) {
      const rule = rows.find((row) => row.scope === scope && row.value === '')
      if (value === '' || !isGroupScope(scope)) continue
      const limitPico = own.limitPico ?? rule?.limitPico ?? UNLIMITED_PICO
      yield [{ scope, accountId, id: value, limitPico }, rule?.limitReset ?? own.limitReset]
    }
  }
}

async function* monthlyBudgets(accountIds: readonly string[], postgres: Postgres): AsyncIterable<Budget> {
  const ofThese = { in: [...accountIds] }
  const accounts = (after: string) =>
    postgres.account.findMany({
      where: { id: { gt: after, ...ofThese }, monthlyLimitPico: { not: null } },
      select: { id: true, monthlyLimitPico: true },
      ...BY_ID,
    })
  for await (const { id, monthlyLimitPico } of inPortions(accounts, ({ id }) => id))
    if (monthlyLimitPico !== null) yield { ...accountBudget(id), limitPico: monthlyLimitPico }

  const members = (after: string) => {
    const [accountId = '', personId = ''] = after.split(' ')
    return postgres.organisationMember.findMany({
      where: {
        AND: { accountId: ofThese },
        OR: [{ accountId: { gt: accountId } }, { accountId, personId: { gt: personId } }],
        monthlyBudgetPico: { not: null },
      },
      orderBy: [{ accountId: 'asc' }, { personId: 'asc' }],
      take: ROWS_AT_ONCE,
    })
  }
  const placeOf = (member: { accountId: string; personId: string }) =>
    `${member.accountId} ${member.personId}`
  for await (const { accountId, personId, monthlyBudgetPico } of inPortions(members, placeOf))
    if (monthlyBudgetPico !== null)
      yield { ...memberBudget(accountId, personId), limitPico: monthlyBudgetPico }
}

/** Reads all rows of a table in pages; `placeOf` returns the cursor after a row. */
async function* inPortions<Row>(
  read: (after: string) => Promise<Row[]>,
  placeOf: (row: Row) => string,
): AsyncIterable<Row> {
  for (let after = ''; ; ) {
    const rows = await read(after)
    yield* rows
    const last = rows.at(-1)
    if (rows.length < ROWS_AT_ONCE || !last) return
    after = placeOf(last)
  }
}
