import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { REPORTED_FAILURE_REASON } from '../settlement/credit-reported-failures.ts'
import { type CheckResult, SAMPLES } from './audit-findings.ts'

/** Maximum credits of a day: a percentage of the charges, and an amount that is always allowed. */
export interface FailureCreditLimits {
  percent: number
  floorPico: bigint
}

export const FAILURE_CREDIT_LIMITS: FailureCreditLimits = { percent: 5, floorPico: parseUsd('1.00') }

/** What one account was credited on a day (UTC) for charged calls whose client received an error. */
export interface FailureCredits {
  /** `2026-02-03`. */
  day: string
  accountId: string
  calls: number
  creditedUsd: string
  /** Charges of the calls settled on that day. */
  chargedUsd: string
}

const NAME = 'credits for failed calls are a small share of the charges'
const REPORTED_DAYS = 7
/** Today and yesterday, so that a day that an operator has reviewed does not fail every later audit. */
const CHECKED_DAYS = 2

/** By account and day, the largest credits first; a null account is the total. */
const CREDITS = `
WITH credited AS (
  SELECT to_char(transaction.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, transaction.account_id,
         count(*) AS calls, -sum(entry.amount_pico) AS amount
  FROM ledger_notes AS note
  JOIN ledger_transactions AS transaction ON transaction.id = note.id AND transaction.kind = note.kind
  JOIN ledger_entries AS entry ON entry.transaction_id = note.id AND entry.kind = note.kind
    AND entry.ledger_account = 'adjustments'
  WHERE note.kind = 'adjustment' AND note.reason = $1 AND note.created_at >= to_timestamp($2::bigint / 1000.0)
  GROUP BY GROUPING SETS ((1, 2), (1))
), charged AS (
  SELECT day::text AS day, account_id, sum(charged_pico) AS amount
  FROM account_provider_costs
  WHERE day >= to_timestamp($2::bigint / 1000.0)::date AND day::text IN (SELECT day FROM credited)
  GROUP BY GROUPING SETS ((1, 2), (1))
)
SELECT credited.day, credited.account_id AS "accountId", credited.calls::int, credited.amount::text AS "creditedPico",
       coalesce(charged.amount, 0)::text AS "chargedPico"
FROM credited LEFT JOIN charged
  ON charged.day = credited.day AND charged.account_id IS NOT DISTINCT FROM credited.account_id
ORDER BY credited.day DESC, credited.amount DESC`

interface Row {
  day: string
  accountId: string | null
  calls: number
  creditedPico: string
  chargedPico: string
}

/**
 * Sums the automatic credits of settlement, because each one hides its call from the check of charged failures, and
 * finds the days on which they exceed `limits`, for one account or in total.
 */
export async function auditFailureCredits(
  postgres: Postgres,
  limits: FailureCreditLimits,
  nowMs: number,
): Promise<{ check: CheckResult; credits: FailureCredits[] }> {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  const since = (days: number) => today - (days - 1) * DAY_MS
  const rows = await postgres.$queryRawUnsafe<Row[]>(CREDITS, REPORTED_FAILURE_REASON, since(REPORTED_DAYS))
  const checkedFrom = new Date(since(CHECKED_DAYS)).toISOString().slice(0, 10)
  const found = rows.filter((row) => row.day >= checkedFrom && isBeyond(row, limits))
  const usd = (amount: string) => formatUsd(BigInt(amount))
  const check = {
    name: NAME,
    broken: found.length,
    discrepancies: found.slice(0, SAMPLES).map(({ day, accountId, calls, creditedPico, chargedPico }) => ({
      check: NAME,
      subject: accountId ?? 'all accounts',
      detail: `${calls} calls of ${usd(creditedPico)} USD credited on ${day}, ${usd(chargedPico)} USD charged`,
    })),
  }
  const credits = rows.flatMap(({ day, accountId, calls, creditedPico, chargedPico }) =>
    accountId === null
      ? []
      : [{ day, accountId, calls, creditedUsd: usd(creditedPico), chargedUsd: usd(chargedPico) }],
  )
  return { check, credits }
}

const isBeyond = ({ creditedPico, chargedPico }: Row, { percent, floorPico }: FailureCreditLimits): boolean =>
  BigInt(creditedPico) > floorPico && BigInt(creditedPico) * 100n > BigInt(chargedPico) * BigInt(percent)
