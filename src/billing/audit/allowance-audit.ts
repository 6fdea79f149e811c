import { allowancePeriod } from '../../core/billing/allowance-period.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { AllowanceStore } from '../holds/allowance-store.ts'
import type { CheckResult, Discrepancy } from './ledger-audit.ts'

const SAMPLES = 20
const KEYS_AT_ONCE = 500
const EXACT = "every key's allowance in Redis is its limit less what it spent and its open holds"

/**
 * Compares what Redis lets keys with a spending limit still spend with the ledger. Exact while calls run. A
 * wrong allowance may simply be deleted: it is loaded again on its next use.
 */
export async function auditAllowances(deps: {
  postgres: Postgres
  allowances: Pick<AllowanceStore, 'check'>
  clock: () => number
}): Promise<CheckResult> {
  const { postgres, allowances, clock } = deps
  const found: Discrepancy[] = []
  for (let after = ''; ; ) {
    const keys = await postgres.apiKey.findMany({
      where: { id: { gt: after }, limitPico: { not: null }, accountId: { not: null } },
      select: { id: true, accountId: true, limitPico: true, limitReset: true },
      orderBy: { id: 'asc' },
      take: KEYS_AT_ONCE,
    })
    for (const { id: keyId, accountId, limitPico, limitReset } of keys) {
      if (accountId === null || limitPico === null) continue
      const known = await allowances.check(
        { keyId, accountId, limitPico },
        allowancePeriod(limitReset, clock()),
      )
      if (known === null || known.left === known.shouldBe) continue
      found.push({
        check: EXACT,
        subject: keyId,
        detail: `left ${known.left}, should be ${known.shouldBe}`,
      })
    }
    const last = keys.at(-1)
    if (keys.length < KEYS_AT_ONCE || !last) break
    after = last.id
  }
  return { name: EXACT, broken: found.length, discrepancies: found.slice(0, SAMPLES) }
}
