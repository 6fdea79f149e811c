import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { type AuditCheck, type AuditScope, scopedTables, scopeValues } from './audit-check.ts'
import { AUDIT_CHECKS } from './audit-checks.ts'
import type { AuditTurn } from './audit-turn.ts'

export interface Discrepancy {
  check: string
  subject: string
  detail: string
}

/** The result of one invariant. */
export interface CheckResult {
  name: string
  /** Number of violations. */
  broken: number
  /** The first violations, at most SAMPLES. */
  discrepancies: Discrepancy[]
}

/** A violation of a check, and the id of the row by which it is looked at again. */
export interface AuditFinding {
  id: string
  subject: string
  detail: string
  /** It may still become none. */
  waits: boolean
}

export const SAMPLES = 20
/** A step that finds more of one check is not proven, and is repeated by the next audit. */
export const FINDINGS_MAX = 500

/** The violations of a check among the rows of a scope, at most FINDINGS_MAX + 1. */
export function findViolations(
  transaction: PostgresTransaction,
  { sql, subject = 'id', waits }: AuditCheck,
  scope: AuditScope,
): Promise<AuditFinding[]> {
  const statement = `${scopedTables(scope)}
SELECT id, ${subject} AS subject, coalesce(detail, 'a value is missing') AS detail, ${waits ? 'waits' : 'false'} AS waits FROM (${sql}) AS found LIMIT ${FINDINGS_MAX + 1}`
  return transaction.$queryRawUnsafe<AuditFinding[]>(statement, ...scopeValues(scope))
}

const KEEP = `
INSERT INTO audit_findings AS known (check_name, id, subject, detail, is_waiting)
SELECT DISTINCT ON (id, subject, detail) $1, id, subject, detail, waits
FROM json_to_recordset($2::json) AS found (id text, subject text, detail text, waits boolean)
ON CONFLICT (check_name, id, subject, detail) DO UPDATE SET is_waiting = EXCLUDED.is_waiting`
const FORGET = 'DELETE FROM audit_findings WHERE check_name = $1 AND id = ANY($2::text[])'

/** Keeps violations until the rows that cause them are looked at again. Returns whether there were too many to keep. */
export async function keepFindings(
  transaction: PostgresTransaction,
  checkName: string,
  found: readonly AuditFinding[],
): Promise<boolean> {
  if (found.length === 0) return false
  await transaction.$executeRawUnsafe(KEEP, checkName, JSON.stringify(found.slice(0, FINDINGS_MAX)))
  return found.length > FINDINGS_MAX
}

/** Keeps the violations of some rows instead of those that were found in them before. */
export async function replaceFindings(
  transaction: PostgresTransaction,
  checkName: string,
  ids: readonly string[],
  found: readonly AuditFinding[],
): Promise<boolean> {
  await transaction.$executeRawUnsafe(FORGET, checkName, ids)
  return keepFindings(transaction, checkName, found)
}

const OPEN = 'SELECT check_name AS "check", array_agg(DISTINCT id) AS ids FROM audit_findings GROUP BY 1'

/** The rows with open findings, by the name of their check. */
export async function openFindings(transaction: PostgresTransaction): Promise<Map<string, string[]>> {
  const rows = await transaction.$queryRawUnsafe<Array<{ check: string; ids: string[] }>>(OPEN)
  return new Map(rows.map(({ check, ids }) => [check, ids]))
}

/** Looks at the rows of all findings again. */
export async function checkFindingsAgain(turn: AuditTurn): Promise<void> {
  await turn.step(async (transaction) => {
    const open = await openFindings(transaction)
    for (const check of AUDIT_CHECKS) {
      const ids = open.get(check.name)
      if (ids === undefined || check.reads === 'open') continue
      const found = await findViolations(transaction, check, { kind: 'ids', ids })
      await replaceFindings(transaction, check.name, ids, found)
    }
  })
}

const REPORT = `
SELECT check_name AS "check", subject, detail, broken FROM (
  SELECT *, count(*) OVER (PARTITION BY check_name) AS broken,
         row_number() OVER (PARTITION BY check_name ORDER BY found_at, subject) AS number
  FROM audit_findings WHERE NOT is_waiting
) AS found WHERE number <= ${SAMPLES} ORDER BY check_name, number`

type ReportedFinding = Discrepancy & { broken: bigint }

/** The results of all checks whose names are given, and of those that read what is open. */
export async function reportFindings(turn: AuditTurn, names: readonly string[]): Promise<CheckResult[]> {
  return turn.step(async (transaction) => {
    const kept = await transaction.$queryRawUnsafe<ReportedFinding[]>(REPORT)
    const results = names.map((name) => {
      const own = kept.filter(({ check }) => check === name)
      const discrepancies = own.map(({ check, subject, detail }) => ({ check, subject, detail }))
      return { name, broken: Number(own[0]?.broken ?? 0n), discrepancies }
    })
    for (const check of AUDIT_CHECKS.filter(({ reads }) => reads === 'open'))
      results.push(await resultOf(transaction, check))
    return results
  })
}

async function resultOf(transaction: PostgresTransaction, { name, sql }: AuditCheck): Promise<CheckResult> {
  const rows = await transaction.$queryRawUnsafe<Array<{ id: string; detail: string; broken: bigint }>>(
    `SELECT id, detail, count(*) OVER () AS broken FROM (${sql}) AS found LIMIT ${SAMPLES}`,
  )
  return {
    name,
    broken: Number(rows[0]?.broken ?? 0n),
    discrepancies: rows.map(({ id, detail }) => ({ check: name, subject: id, detail })),
  }
}
