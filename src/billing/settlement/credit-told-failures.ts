import { adjustmentPosting } from '../../core/billing/postings.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'
import { postLedger } from '../ledger/ledger-store.ts'
import { PROMPT_SUM_SQL } from './settlement-statements.ts'

/**
 * Calls that are charged although an API instance told their caller that they failed. Its record is the one that no
 * worker claimed; the sweep's record of a lost hold, which nobody was told of, has the call's id for its request id.
 * The completion tokens of that record are what the caller was delivered of the answer before: so much is due.
 */
const TOLD_A_FAILURE = `
SELECT id AS "callId", account_id AS "accountId",
       charge_pico - CASE WHEN told.delivered = 0 THEN 0
                          ELSE least(charge_pico, ${PROMPT_SUM_SQL.rate} + told.delivered * completion_rate_pico::numeric)
                     END::bigint AS "creditPico"
FROM call_records AS call JOIN (
  SELECT call_id, max(completion_tokens) AS delivered FROM settlement_conflicts
  WHERE call_id = ANY($1) AND status = 'failed' AND record->>'claimed_at_ms' IS NULL AND record->>'request_id' <> call_id
  GROUP BY call_id
) AS told ON told.call_id = call.id
WHERE charge_pico > 0 AND NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = call.id)`

const REVIEW = 'INSERT INTO call_reviews (call_id, note) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const NOTE =
  'INSERT INTO ledger_notes (id, kind, reason) VALUES ($1, $2::ledger_kind, $3) ON CONFLICT DO NOTHING'
/** A retry with the same Idempotency-Key is charged: it is no duplicate of a call that cost nothing. */
const FREE_KEY = 'DELETE FROM idempotency_keys WHERE account_id = $1 AND call_id = $2'
export const TOLD_FAILURE_REASON = 'The call was charged, and its caller was told that it failed.'
const NOTHING_TO_CREDIT =
  'The call is charged for no more than its caller was delivered before it was told a failure.'

interface ChargedCall {
  callId: string
  accountId: string
  /** What is charged beyond what its caller was delivered. */
  creditPico: bigint
}

/**
 * Credits what is charged of calls whose caller was told that they failed, beyond what it had been delivered by then.
 * The review tells the audit that it is decided, and makes the credit one. Returns the balances that changed.
 */
export async function creditToldFailures(
  postgres: Postgres,
  callIds: readonly string[],
): Promise<Array<LedgerBalance & { accountId: string }>> {
  const calls = await postgres.$queryRawUnsafe<ChargedCall[]>(TOLD_A_FAILURE, callIds)
  const credited: Array<LedgerBalance & { accountId: string }> = []
  for (const { callId, accountId, creditPico } of calls) {
    const balance = await postgres.$transaction(async (transaction) => {
      const note = creditPico > 0n ? `credited: ${TOLD_FAILURE_REASON}` : NOTHING_TO_CREDIT
      const reviewed = await transaction.$executeRawUnsafe(REVIEW, callId, note)
      if (reviewed === 0 || creditPico <= 0n) return null
      const posting = adjustmentPosting(callId, accountId, picoUsd(creditPico))
      const posted = await postLedger(transaction, posting)
      await transaction.$executeRawUnsafe(FREE_KEY, accountId, callId)
      await transaction.$executeRawUnsafe(NOTE, posting.id, posting.kind, TOLD_FAILURE_REASON)
      return posted
    })
    if (balance) credited.push({ accountId, balancePico: balance.balancePico, version: balance.version })
  }
  return credited
}
