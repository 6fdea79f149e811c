import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { type AuditFinding, FINDINGS_MAX, keepFindings } from './audit-findings.ts'
import type { AuditPoint } from './audit-turn.ts'
import { BALANCE, OF_AN_ACCOUNT } from './balance-audit.ts'

/** The check of the full audit over the sums of all earlier ones. */
export const PROVEN_SUMS = 'the proven sum of a ledger account is the sum of all its entries'

/** What a full audit, $1, has found of a ledger account. */
const RECOUNTED = 'CASE WHEN known.recount = $1::int THEN known.recounted_pico ELSE 0 END'
const IS_WRONG = `known.amount_pico <> ${RECOUNTED}`

const DIFFERENT = `
SELECT ledger_account AS id, ledger_account AS subject,
       'proven ' || amount_pico || ', its entries sum to ' || ${RECOUNTED} AS detail, false AS waits
FROM audit_balances AS known WHERE ${IS_WRONG} ORDER BY ledger_account LIMIT ${FINDINGS_MAX + 1}`
/** From here on balances are compared with what the entries say. */
const CORRECT = `UPDATE audit_balances AS known SET amount_pico = ${RECOUNTED}, is_changed = ${OF_AN_ACCOUNT} WHERE ${IS_WRONG}`

const WITHOUT_ACCOUNT = `
SELECT account_id AS id, 'customer:' || account_id AS subject,
       'balance of no account, entries ' || amount_pico AS detail, false AS waits
FROM (SELECT substr(ledger_account, 10) AS account_id, amount_pico FROM audit_balances WHERE ledger_account LIKE 'customer:%')
     AS proven
WHERE amount_pico <> 0 AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = proven.account_id)
LIMIT ${FINDINGS_MAX + 1}`

const FINISH = `
UPDATE audit_point SET
  sums = (
    SELECT coalesce(jsonb_object_agg(name, total::text), '{}')
    FROM (SELECT split_part(ledger_account, ':', 1) AS name, sum(amount_pico) AS total FROM audit_balances GROUP BY 1) AS summed),
  is_established = true, recount_xact = NULL, recount_after = NULL, recounted_at = now()`

/**
 * Ends a full audit: compares its sums with the proven ones, which differ where proven entries were changed or removed. The
 * first one has made them itself.
 */
export async function finishRecount(transaction: PostgresTransaction, point: AuditPoint): Promise<void> {
  await transaction.$executeRawUnsafe("SELECT set_config('enable_seqscan', 'on', true)")
  await transaction.$executeRawUnsafe('DELETE FROM audit_findings WHERE check_name = $1', PROVEN_SUMS)
  if (point.isEstablished) {
    const found = await transaction.$queryRawUnsafe<AuditFinding[]>(DIFFERENT, point.recount)
    await keepFindings(transaction, PROVEN_SUMS, found)
    await transaction.$executeRawUnsafe(CORRECT, point.recount)
  }
  await keepFindings(transaction, BALANCE, await transaction.$queryRawUnsafe<AuditFinding[]>(WITHOUT_ACCOUNT))
  await transaction.$executeRawUnsafe(FINISH)
}
