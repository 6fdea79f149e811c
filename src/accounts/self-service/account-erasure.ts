import type { HoldStore } from '../../billing/holds/hold-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { withIndexPlans } from '../../platform/postgres/custom-plans.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'

const ROWS_AT_ONCE = 1_000
const CALLS_AT_ONCE = 2_000

/** Tables whose rows of an account grow with its calls. */
const TABLES = ['prompt_logs', 'stored_responses', 'call_feedback'] as const

const deleteSome = (table: (typeof TABLES)[number]) => `
DELETE FROM ${table} WHERE account_id = $1
  AND call_id IN (SELECT call_id FROM ${table} WHERE account_id = $1 LIMIT ${ROWS_AT_ONCE})`

/**
 * A page of calls by admission and id, and its end as the new position. Settlement stores no labels for an account once it
 * is deleted, so none comes behind the position.
 */
const FORGET_LABELS = `
WITH page AS (
  SELECT id, admitted_at_ms, labels IS NOT NULL AS labelled FROM call_records
  WHERE account_id = $1 AND admitted_at_ms >= $2::bigint AND (admitted_at_ms, id) > ($2::bigint, $3)
  ORDER BY admitted_at_ms, id LIMIT ${CALLS_AT_ONCE}
), forgotten AS (
  UPDATE call_records SET labels = NULL WHERE id IN (SELECT id FROM page WHERE labelled)
), reached AS (
  SELECT id, admitted_at_ms FROM page ORDER BY admitted_at_ms DESC, id DESC LIMIT 1
)
UPDATE account_erasures SET after_ms = reached.admitted_at_ms, after_id = reached.id FROM reached WHERE account_id = $1`

interface ErasureDependencies {
  postgres: Postgres
  holds: Pick<HoldStore, 'expireAccount'>
  announce: (change: KeyChange) => Promise<void>
  logger: Logger
}

/** Whether the data of a deleted account is still being erased. */
export const hasErasures = async (postgres: Postgres): Promise<boolean> =>
  (await postgres.accountErasure.findFirst({ select: { accountId: true } })) !== null

/**
 * Erases what the calls of deleted accounts left, in short transactions: another run, of any process, continues where one
 * stopped. First it announces the revoked keys again, in case the process that deleted the account could not.
 */
export async function eraseDeletedAccounts(deps: ErasureDependencies, stopping: AbortSignal): Promise<void> {
  const { postgres, holds, announce, logger } = deps
  for (const { accountId } of await postgres.accountErasure.findMany({ orderBy: { createdAt: 'asc' } })) {
    if (stopping.aborted) return
    await announce({ accountId })
    await holds.expireAccount(accountId)
    while (await eraseSome(postgres, accountId)) if (stopping.aborted) return
    await postgres.groupBudget.deleteMany({ where: { accountId } })
    await postgres.guardrail.deleteMany({ where: { accountId } })
    await postgres.spendTotal.deleteMany({ where: { accountId, keyId: { contains: ':' } } })
    await postgres.accountErasure.delete({ where: { accountId } })
    logger.info({ accountId }, 'data of the calls of a deleted account erased')
  }
}

/** Erases one step of an account's data; false: nothing is left. */
const eraseSome = (postgres: Postgres, accountId: string): Promise<boolean> =>
  withIndexPlans(postgres, async (transaction) => {
    for (const table of TABLES)
      if ((await transaction.$executeRawUnsafe(deleteSome(table), accountId)) > 0) return true
    return forgetLabels(transaction, accountId)
  })

async function forgetLabels(transaction: PostgresTransaction, accountId: string): Promise<boolean> {
  const { afterMs, afterId } = await transaction.accountErasure.findUniqueOrThrow({ where: { accountId } })
  return (await transaction.$executeRawUnsafe(FORGET_LABELS, accountId, afterMs, afterId)) > 0
}
