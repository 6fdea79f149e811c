import { adjustmentPosting } from '../../core/billing/postings.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'
import { postLedger } from '../ledger/ledger-store.ts'
import { PROMPT_SUM_SQL } from './settlement-statements.ts'

/**
 * Selects calls that are charged although an API instance sent their client an error. The proof is the dropped record
 * that no worker claimed; the sweep's record of a lost hold, of which no client was notified, has the call's id as its
 * request id. The completion tokens of the dropped record were delivered before the error, so they stay charged.
 */
const REPORTED_A_FAILURE = `
SELECT call.id AS "callId", call.account_id AS "accountId", key.key_digest AS "keyDigest",
       call.charge_pico - CASE WHEN reported.delivered = 0 THEN 0
                          ELSE least(call.charge_pico, ${PROMPT_SUM_SQL.rate} + reported.delivered * completion_rate_pico::numeric)
                     END::bigint AS "creditPico"
FROM call_records AS call JOIN (
  SELECT call_id, max(completion_tokens) AS delivered FROM settlement_conflicts
  WHERE call_id = ANY($1) AND status = 'failed' AND record->>'claimed_at_ms' IS NULL AND record->>'request_id' <> call_id
  GROUP BY call_id
) AS reported ON reported.call_id = call.id
LEFT JOIN idempotency_keys AS key ON key.account_id = call.account_id AND key.call_id = call.id
WHERE call.charge_pico > 0 AND NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = call.id)`

const REVIEW = 'INSERT INTO call_reviews (call_id, note) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const NOTE =
  'INSERT INTO ledger_notes (id, kind, reason) VALUES ($1, $2::ledger_kind, $3) ON CONFLICT DO NOTHING'
/** A retry with the same Idempotency-Key is charged: it is no duplicate of a call that cost nothing. */
const FREE_KEY = 'DELETE FROM idempotency_keys WHERE account_id = $1 AND call_id = $2'
/** Stored with each credit and searched by the audit, so the text must not change. */
export const REPORTED_FAILURE_REASON = 'The call was charged, and its caller was told that it failed.'
const NOTHING_TO_CREDIT = 'The call is charged only for what its client received before the error.'

interface ChargedCall {
  callId: CallId
  accountId: string
  /** Digest of its Idempotency-Key. */
  keyDigest: string | null
  /** The charge beyond what the client received. */
  creditPico: bigint
}

/** A credited call, and the balance of its account afterwards. */
export interface CreditedCall extends LedgerBalance {
  callId: string
  accountId: string
  creditPico: bigint
}

/** Drops the kept response of a call's Idempotency-Key, and frees the key. */
export type DiscardCompletion = (call: {
  id: CallId
  accountId: string
  idempotencyRecord: string
}) => Promise<void>

/**
 * Credits the charge of calls whose client received an error, beyond what it received before the error. The review
 * marks the call as decided for the audit, and prevents a second credit. Returns the credits, with the changed
 * balances.
 */
export async function creditReportedFailures(
  postgres: Postgres,
  callIds: readonly string[],
  discardCompletion: DiscardCompletion,
): Promise<CreditedCall[]> {
  const calls = await postgres.$queryRawUnsafe<ChargedCall[]>(REPORTED_A_FAILURE, callIds)
  const credited: CreditedCall[] = []
  for (const { callId, accountId, creditPico, keyDigest } of calls) {
    // Must come before the credit, which is made once: a process that settles again after a crash in between repeats
    // this.
    if (keyDigest !== null && creditPico > 0n)
      await discardCompletion({ id: callId, accountId, idempotencyRecord: keyDigest })
    const balance = await postgres.$transaction(async (transaction) => {
      const note = creditPico > 0n ? `credited: ${REPORTED_FAILURE_REASON}` : NOTHING_TO_CREDIT
      const reviewed = await transaction.$executeRawUnsafe(REVIEW, callId, note)
      if (reviewed === 0 || creditPico <= 0n) return null
      const posting = adjustmentPosting(callId, accountId, picoUsd(creditPico))
      const posted = await postLedger(transaction, posting)
      await transaction.$executeRawUnsafe(FREE_KEY, accountId, callId)
      await transaction.$executeRawUnsafe(NOTE, posting.id, posting.kind, REPORTED_FAILURE_REASON)
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
