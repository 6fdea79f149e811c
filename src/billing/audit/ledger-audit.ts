import type { Postgres } from '../../platform/postgres/postgres.ts'
import { AUDIT_CHECKS } from './audit-checks.ts'

export interface Discrepancy {
  check: string
  subject: string
  detail: string
}

/** The result of one invariant over the whole ledger. */
export interface CheckResult {
  name: string
  /** Number of violations. */
  broken: number
  /** The first violations, at most SAMPLES. */
  discrepancies: Discrepancy[]
}

export interface LedgerAudit {
  /** Totals of the ledger by their names in SUMS; amounts in pico-USD. */
  metrics: Record<string, bigint>
  checks: CheckResult[]
}

const SAMPLES = 20
const AUDIT_TIMEOUT_MS = 3_600_000

/**
 * Totals are text, because those over all accounts may exceed 64 bits. `railsPico` is what payment rails received and
 * did not return, negative since it is owed to customers; `receivablesPico` is what customers owe, negative.
 */
const SUMS = `
WITH ledger AS (
  SELECT ledger_account LIKE 'customer:%' AS customer, ledger_account, amount_pico FROM ledger_entries
), sums AS (
  SELECT coalesce(sum(amount_pico), 0)::text AS "ledgerEntriesPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'revenue'), 0)::text AS "revenuePico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'byok_fees'), 0)::text AS "byokFeesPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'promotional_credit'), 0)::text AS "promotionalCreditPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'adjustments'), 0)::text AS "adjustmentsPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account LIKE 'rail:%'), 0)::text AS "railsPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'disputes'), 0)::text AS "disputesPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'call_payment_remainder'), 0)::text AS "callPaymentRemainderPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'unpaid_calls'), 0)::text AS "unpaidCallsPico",
         coalesce(sum(amount_pico) FILTER (WHERE ledger_account LIKE 'receivable:%'), 0)::text AS "receivablesPico"
  FROM ledger
), calls AS (
  SELECT count(*) AS "calls",
         count(*) FILTER (WHERE status = 'completed') AS "completedCalls",
         count(*) FILTER (WHERE status = 'failed') AS "failedCalls",
         count(*) FILTER (WHERE status = 'cancelled') AS "cancelledCalls",
         count(*) FILTER (WHERE status = 'interrupted') AS "interruptedCalls",
         count(*) FILTER (WHERE usage_clamped) AS "clampedCalls",
         count(*) FILTER (WHERE is_byok) AS "byokCalls",
         coalesce(sum(charge_pico), 0)::text AS "chargedPico",
         coalesce(sum(prompt_tokens), 0)::text AS "promptTokens",
         coalesce(sum(completion_tokens), 0)::text AS "completionTokens"
  FROM call_records
)
SELECT (SELECT count(*) FROM accounts) AS "accounts",
       (SELECT coalesce(sum(balance_pico), 0)::text FROM accounts) AS "balancesPico",
       (SELECT count(*) FROM ledger_transactions) AS "ledgerTransactions",
       (SELECT count(*) FROM payments) AS "payments",
       (SELECT count(*) FROM payments WHERE settled_pico > 0) AS "settledPayments",
       (SELECT count(*) FROM call_payments) AS "callPayments",
       (SELECT count(*) FROM call_payments WHERE state = 'settled') AS "settledCallPayments",
       (SELECT coalesce(sum(uncharged_pico), 0)::text FROM account_provider_costs) AS "unchargedProviderCostPico",
       sums.*, calls.*
FROM sums, calls`

/** The server holds the lock until the transaction ends, even if its process dies. */
const TAKE_TURN = "SELECT pg_try_advisory_xact_lock(hashtext('ledger-audit')) AS taken"

/**
 * Sums the ledger and checks every invariant in one read-only snapshot: a call that settles during the audit is
 * included entirely or not at all. The pool must have no statement timeout. With `alone` it throws while another such
 * audit is running in the database.
 */
export async function auditLedger(postgres: Postgres, { alone = false } = {}): Promise<LedgerAudit> {
  return postgres.$transaction(
    async (transaction) => {
      await transaction.$executeRawUnsafe('SET TRANSACTION READ ONLY')
      if (alone) {
        const [turn] = await transaction.$queryRawUnsafe<Array<{ taken: boolean }>>(TAKE_TURN)
        if (!turn?.taken) throw new Error('another audit of the ledger is still running')
      }
      const [sums] = await transaction.$queryRawUnsafe<Array<Record<string, bigint | string>>>(SUMS)
      if (!sums) throw new Error('the sums of the ledger returned no row')
      const metrics = Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, BigInt(value)]))
      const checks: CheckResult[] = []
      for (const { name, sql } of AUDIT_CHECKS) {
        const rows = await transaction.$queryRawUnsafe<
          Array<{ subject: string; detail: string; broken: bigint }>
        >(`SELECT subject, detail, count(*) OVER () AS broken FROM (${sql}) AS found LIMIT ${SAMPLES}`)
        checks.push({
          name,
          broken: Number(rows[0]?.broken ?? 0n),
          discrepancies: rows.map(({ subject, detail }) => ({ check: name, subject, detail })),
        })
      }
      return { metrics, checks }
    },
    { isolationLevel: 'RepeatableRead', timeout: AUDIT_TIMEOUT_MS },
  )
}
