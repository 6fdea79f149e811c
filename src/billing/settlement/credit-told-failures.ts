import { adjustmentPosting } from '../../core/billing/postings.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'
import { postLedger } from '../ledger/ledger-store.ts'

/**
 * Calls that are charged although an API instance told their caller that they failed. Its record is the one that no
 * worker claimed; the sweep's record of a lost hold, which nobody was told of, has the call's id for its request id.
 */
const TOLD_A_FAILURE = `
SELECT DISTINCT call.id AS "callId", call.account_id AS "accountId", call.charge_pico AS "chargePico"
FROM settlement_conflicts AS aside JOIN call_records AS call ON call.id = aside.call_id
WHERE call.id = ANY($1) AND call.charge_pico > 0
  AND aside.status = 'failed' AND aside.record->>'claimed_at_ms' IS NULL AND aside.record->>'request_id' <> call.id
  AND NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = call.id)`

const REVIEW = 'INSERT INTO call_reviews (call_id, note) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const NOTE =
  'INSERT INTO ledger_notes (id, kind, reason) VALUES ($1, $2::ledger_kind, $3) ON CONFLICT DO NOTHING'
/** A retry with the same Idempotency-Key is charged: it is no duplicate of a call that cost nothing. */
const FREE_KEY = 'DELETE FROM idempotency_keys WHERE account_id = $1 AND call_id = $2'
const REASON = 'The call was charged, and its caller was told that it failed.'

interface ChargedCall {
  callId: string
  accountId: string
  chargePico: bigint
}

/**
 * Credits the charges of those calls whose caller was told that they failed: what the gateway failed costs nothing.
 * The review tells the audit that it is decided, and makes the credit one. Returns the balances that changed.
 */
export async function creditToldFailures(
  postgres: Postgres,
  callIds: readonly string[],
): Promise<Array<LedgerBalance & { accountId: string }>> {
  const calls = await postgres.$queryRawUnsafe<ChargedCall[]>(TOLD_A_FAILURE, callIds)
  const credited: Array<LedgerBalance & { accountId: string }> = []
  for (const { callId, accountId, chargePico } of calls) {
    const balance = await postgres.$transaction(async (transaction) => {
      const reviewed = await transaction.$executeRawUnsafe(REVIEW, callId, `credited: ${REASON}`)
      if (reviewed === 0) return null
      const posting = adjustmentPosting(callId, accountId, picoUsd(chargePico))
      const posted = await postLedger(transaction, posting)
      await transaction.$executeRawUnsafe(FREE_KEY, accountId, callId)
      await transaction.$executeRawUnsafe(NOTE, posting.id, posting.kind, REASON)
      return posted
    })
    if (balance) credited.push({ accountId, balancePico: balance.balancePico, version: balance.version })
  }
  return credited
}
