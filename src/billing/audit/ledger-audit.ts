import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { AUDIT_CHECKS } from './audit-checks.ts'
import { type CheckResult, checkFindingsAgain, type Discrepancy, reportFindings } from './audit-findings.ts'
import { beginRecount, type ProvenRows, proveNewRows, recountStep, type StepOutcome } from './audit-steps.ts'
import { type AuditPoint, type AuditTurn, withAuditTurn } from './audit-turn.ts'
import { auditBalances, BALANCE_CHECKS, isFarBehind } from './balance-audit.ts'
import { PROVEN_SUMS } from './finish-recount.ts'

/**
 * `new`: what was written since the last audit. `full`: all rows, to the end. `scheduled`: what is new, and a part of a full
 * audit, which begins a week after the last one.
 */
export type AuditReach = 'new' | 'full' | 'scheduled'

export interface LedgerAudit {
  /** Whether it read all rows, or the last part of them. */
  isFull: boolean
  /** Totals of the ledger; amounts in pico-USD. Those of call records only from a full audit. */
  metrics: Record<string, bigint>
  checks: CheckResult[]
}

interface LedgerAuditOptions {
  reach?: AuditReach
  /** How long to wait for another audit that is running. */
  waitMs?: number
  /** Called with the accounts whose balances were compared, while no other audit runs. */
  onAccounts?: (accountIds: string[]) => Promise<void>
  clock?: () => number
}

const WAIT_MS = 60_000
const FULL_EVERY_MS = 7 * DAY_MS
/** A scheduled audit reads all rows in parts of this time, so that what is new is not left for long. */
const FULL_PART_MS = 5 * 60_000
/** During a longer part the new rows are proven this often. */
const NEW_ROWS_EVERY_MS = 60_000

const KEEPS_UP = 'the audit has reached what was written an hour ago'
const FULL_ONLY = [
  PROVEN_SUMS,
  ...AUDIT_CHECKS.filter(({ reads }) => reads === 'full').map(({ name }) => name),
]
const ROW_CHECKS = AUDIT_CHECKS.filter(({ reads }) => reads !== 'open').map(({ name }) => name)

/**
 * Checks every invariant of the ledger over what was written since the last audit, in transactions of about a second each, and
 * keeps the sums that it has proven. The first audit of a database reads all rows. Throws AuditBusyError while another one is
 * running.
 */
export function auditLedger(postgres: Postgres, options: LedgerAuditOptions = {}): Promise<LedgerAudit> {
  const { reach = 'new', waitMs = WAIT_MS, onAccounts, clock = Date.now } = options
  return withAuditTurn(postgres, waitMs, async (turn) => {
    const proven = await proveNewRows(turn)
    const isFull = await readAllRows(turn, reach, clock)
    const point = await turn.step(async (_, now) => now)
    // Until all rows were read once, the sums miss what is older than the first audit.
    if (point.isEstablished)
      for await (const accountIds of auditBalances(turn, { all: isFull })) await onAccounts?.(accountIds)
    await checkFindingsAgain(turn)
    const names = [...ROW_CHECKS, ...BALANCE_CHECKS, PROVEN_SUMS]
    const kept = await reportFindings(turn, names)
    const checks = kept.filter(({ name, broken }) => isFull || broken > 0 || !FULL_ONLY.includes(name))
    checks.push(await turn.step((transaction) => keepsUp(transaction, proven.outcome)))
    const metrics = await turn.step((transaction, now) => metricsOf(transaction, now, proven, isFull))
    return { isFull, checks, metrics }
  })
}

/** Reads all rows where that is due. Returns whether the last of them was reached. */
async function readAllRows(turn: AuditTurn, reach: AuditReach, clock: () => number): Promise<boolean> {
  const point = await turn.step(async (_, now) => now)
  if (!isFullDue(point, reach, clock())) return false
  await beginRecount(turn)
  const isPart = reach === 'scheduled' && point.isEstablished
  const endAt = isPart ? clock() + FULL_PART_MS : Number.POSITIVE_INFINITY
  for (let newRowsAt = clock() + NEW_ROWS_EVERY_MS; clock() < endAt; ) {
    const outcome = await recountStep(turn)
    if (outcome !== 'advanced') return outcome === 'done'
    if (clock() < newRowsAt) continue
    await proveNewRows(turn)
    newRowsAt = clock() + NEW_ROWS_EVERY_MS
  }
  return false
}

function isFullDue(point: AuditPoint, reach: AuditReach, nowMs: number): boolean {
  if (reach === 'full' || !point.isEstablished) return true
  if (reach === 'new') return false
  return point.recountXact !== null || nowMs - (point.recountedAt?.getTime() ?? 0) >= FULL_EVERY_MS
}

/** Remembers the newest transaction: once all up to it are proven, everything committed before this moment is. */
const SEE = `
UPDATE audit_point SET
  proven_at = CASE WHEN proven_xact >= seen_xact THEN seen_at ELSE proven_at END,
  seen_xact = CASE WHEN proven_xact >= seen_xact
                   THEN pg_snapshot_xmax(pg_current_snapshot())::text::bigint + written_xact_offset() ELSE seen_xact END,
  seen_at = CASE WHEN proven_xact >= seen_xact THEN now() ELSE seen_at END
RETURNING proven_at AS "provenAt", seen_at < now() - interval '1 hour' AS "isLate"`

/** An audit falls behind where it finds more than it keeps, or where a transaction stays in progress. */
async function keepsUp(transaction: PostgresTransaction, outcome: StepOutcome): Promise<CheckResult> {
  const [seen] = await transaction.$queryRawUnsafe<Array<{ provenAt: Date; isLate: boolean }>>(SEE)
  const { provenAt, isLate } = seen!
  const found: Discrepancy[] = []
  const report = (detail: string) => found.push({ check: KEEPS_UP, subject: 'audit', detail })
  const until = `proven is what was committed before ${provenAt.toISOString()}`
  if (outcome === 'halted') report(`one step found too many discrepancies; ${until}`)
  else if (isLate) report(`a transaction has been in progress for over an hour; ${until}`)
  if (await isFarBehind(transaction)) report('balances are not compared, too many entries are not proven')
  return { name: KEEPS_UP, broken: found.length, discrepancies: found }
}

/**
 * Totals are text, because those over all accounts may exceed 64 bits. `railsPico` is what payment rails received and
 * did not return, negative since it is owed to customers; `receivablesPico` is what customers owe, negative.
 */
const SUMS = `
SELECT coalesce(sum(value::numeric), 0)::text AS "ledgerEntriesPico",
       ${Object.entries({
         balancesPico: 'customer',
         revenuePico: 'revenue',
         byokFeesPico: 'byok_fees',
         promotionalCreditPico: 'promotional_credit',
         adjustmentsPico: 'adjustments',
         railsPico: 'rail',
         disputesPico: 'disputes',
         callPaymentRemainderPico: 'call_payment_remainder',
         unpaidCallsPico: 'unpaid_calls',
         receivablesPico: 'receivable',
       })
         .map(
           ([name, key]) =>
             `coalesce(sum(value::numeric) FILTER (WHERE key = '${key}'), 0)::text AS "${name}"`,
         )
         .join(',\n       ')}
FROM audit_point, jsonb_each_text(sums)`

const COUNTS = `
SELECT (SELECT count(*) FROM accounts)::text AS "accounts",
       (SELECT count(*) FROM payments)::text AS "payments",
       (SELECT count(*) FROM payments WHERE settled_pico > 0)::text AS "settledPayments",
       (SELECT count(*) FROM call_payments)::text AS "callPayments",
       (SELECT count(*) FROM call_payments WHERE state = 'settled')::text AS "settledCallPayments",
       (SELECT coalesce(sum(uncharged_pico), 0) FROM account_provider_costs)::text AS "unchargedProviderCostPico"`

async function metricsOf(
  transaction: PostgresTransaction,
  point: AuditPoint,
  { calls, entries }: ProvenRows,
  isFull: boolean,
): Promise<Record<string, bigint>> {
  const read = async (sql: string) =>
    (await transaction.$queryRawUnsafe<Array<Record<string, string>>>(sql))[0] ?? {}
  const totals = {
    newCalls: String(calls),
    newLedgerEntries: String(entries),
    ...(await read(SUMS)),
    ...(isFull && { ...(await read(COUNTS)), ...point.recountFigures }),
  }
  return Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, BigInt(value)]))
}
