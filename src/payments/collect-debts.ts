import type { HoldStore } from '../billing/holds/hold-store.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import { changeDebt, lockAccount } from '../billing/ledger/locked-account.ts'
import { collectionPosting } from '../core/billing/payment-movements.ts'
import { newId } from '../core/kernel/ids.ts'
import { lesserOf } from '../core/kernel/money.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

export interface CollectDependencies {
  postgres: Postgres
  holds: HoldStore
}

const OWING = `
SELECT id FROM accounts WHERE owed_pico > 0 AND balance_pico > 0 ORDER BY id LIMIT $1`

const TRANSACTION = { maxWait: 5_000, timeout: 10_000 }

/**
 * Pays what accounts owe from balances that have come free since: money that running calls held when it was to
 * be taken back, or a credit. Returns from how many accounts something was collected.
 */
export async function collectDebts(deps: CollectDependencies, limit: number): Promise<number> {
  const owing = await deps.postgres.$queryRawUnsafe<Array<{ id: string }>>(OWING, limit)
  let collected = 0
  for (const { id } of owing) if (await collectDebt(id, deps)) collected += 1
  return collected
}

async function collectDebt(accountId: string, deps: CollectDependencies): Promise<boolean> {
  const { postgres, holds } = deps
  const outcome = await postgres.$transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId)
    const wantedPico = lesserOf(account.owedPico, account.balancePico)
    if (wantedPico === 0n) return null
    const hold = await holds.reserveTakeback(accountId, wantedPico, account)
    if (hold.amountPico === 0n) return null
    const posting = collectionPosting(newId('evt'), accountId, lesserOf(wantedPico, hold.amountPico))
    const ledger = await postLedger(transaction, posting)
    await changeDebt(transaction, accountId, -hold.amountPico)
    return { ledger, hold }
  }, TRANSACTION)
  if (!outcome) return false
  const { holdId, amountPico } = outcome.hold
  await holds.apply(accountId, outcome.ledger, [{ callId: holdId, chargePico: amountPico }])
  return true
}
