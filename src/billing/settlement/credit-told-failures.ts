import { adjustmentPosting } from '../../core/billing/postings.ts'
import type { CallId } from '../../core/kernel/ids.ts'
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
SELECT call.id AS "callId", call.account_id AS "accountId", key.key_digest AS "keyDigest",
       call.charge_pico - CASE WHEN told.delivered = 0 THEN 0
                          ELSE least(call.charge_pico, ${PROMPT_SUM_SQL.rate} + told.delivered * completion_rate_pico::numeric)
                     END::bigint AS "creditPico"
FROM call_records AS call JOIN (
  SELECT call_id, max(completion_tokens) AS delivered FROM settlement_conflicts
  WHERE call_id = ANY($1) AND status = 'failed' AND record->>'claimed_at_ms' IS NULL AND record->>'request_id' <> call_id
  GROUP BY call_id
) AS told ON told.call_id = call.id
LEFT JOIN idempotency_keys AS key ON key.account_id = call.account_id AND key.call_id = call.id
WHERE call.charge_pico > 0 AND NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = call.id)`

const REVIEW = 'INSERT INTO call_reviews (call_id, note) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const NOTE =
  'INSERT INTO ledger_notes (id, kind, reason) VALUES ($1, $2::ledger_kind, $3) ON CONFLICT DO NOTHING'
/** A retry with the same Idempotency-Key is charged: it is no duplicate of a call that cost nothing. */
const FREE_KEY = 'DELETE FROM idempotency_keys WHERE account_id = $1 AND call_id = $2'
export const TOLD_FAILURE_REASON = 'The call was charged, and its caller was told that it failed.'
const NOTHING_TO_CREDIT =
  'The call is charged for no more than its caller was delivered before it was told a failure.'

interface ChargedCall {
  callId: CallId
  accountId: string
  /** Of the Idempotency-Key that stands for it. */
  keyDigest: string | null
  /** What is charged beyond what its caller was delivered. */
  creditPico: bigint
}

/** A call whose charge was credited, and the balance of its account after that. */
export interface CreditedCall extends LedgerBalance {
  callId: string
  accountId: string
  creditPico: bigint
}

/** Drops the answer that is kept for the Idempotency-Key of a call, and frees the key. */
export type DiscardAnswer = (call: {
  id: CallId
  accountId: string
  idempotencyRecord: string
}) => Promise<void>

/**
 * Credits what is charged of calls whose caller was told that they failed, beyond what it had been delivered by then.
 * The review tells the audit that it is decided, and makes the credit one. Returns the credits, with the balances that
 * changed.
 */
export async function creditToldFailures(
  postgres: Postgres,
  callIds: readonly string[],
  discardAnswer: DiscardAnswer,
): Promise<CreditedCall[]> {
  const calls = await postgres.$queryRawUnsafe<ChargedCall[]>(TOLD_A_FAILURE, callIds)
  const credited: CreditedCall[] = []
  for (const { callId, accountId, creditPico, keyDigest } of calls) {
    // Before the credit, which is made once: whoever settles again after a crash in between does this again.
    if (keyDigest !== null && creditPico > 0n)
      await discardAnswer({ id: callId, accountId, idempotencyRecord: keyDigest })
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
    if (balance?.posted)
      credited.push({
        ...{ callId, accountId, creditPico },
        balancePico: balance.balancePico,
        version: balance.version,
      })
  }
  return credited
}
