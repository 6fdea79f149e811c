import type { PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { Payment } from './payment-store.ts'

export interface SuspensionCauses {
  /** There is or was a dispute. */
  contested: boolean
  shortfalls: ReadonlyArray<{ transactionId: string; shortfallPico: bigint }>
}

const RECORD = `
INSERT INTO account_suspensions (id, account_id, payment_id, reason, shortfall_pico)
VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`

const SUSPEND = `UPDATE accounts SET state = 'suspended' WHERE id = $1`
const END_SESSIONS = 'DELETE FROM console_sessions WHERE account_id = $1'

/**
 * Suspends an account whose money went back in a way that needs a person: a dispute, or more than the balance
 * held. Each cause suspends once and leaves a record, so an operator's `resume` stands. Returns whether it did.
 */
export async function suspendFor(
  transaction: PostgresTransaction,
  { id, accountId }: Payment,
  { contested, shortfalls }: SuspensionCauses,
): Promise<boolean> {
  let recorded = 0
  if (contested)
    recorded += await transaction.$executeRawUnsafe(RECORD, `${id}/dispute`, accountId, id, 'dispute', 0n)
  for (const { transactionId, shortfallPico } of shortfalls) {
    const causeId = `${transactionId}/shortfall`
    recorded += await transaction.$executeRawUnsafe(
      RECORD,
      causeId,
      accountId,
      id,
      'shortfall',
      shortfallPico,
    )
  }
  if (recorded > 0) {
    await transaction.$executeRawUnsafe(SUSPEND, accountId)
    await transaction.$executeRawUnsafe(END_SESSIONS, accountId)
  }
  return recorded > 0
}
