import { type PostgresTransaction, slownessOf } from '../../platform/postgres/postgres.ts'
import { ARCHIVED_MONTHS } from './adopt-server.ts'
import { type AuditCheck, type AuditScope, SCOPED_TABLES, scopedTables, scopeValues } from './audit-check.ts'
import { AUDIT_CHECKS } from './audit-checks.ts'
import { findViolations, keepFindings } from './audit-findings.ts'
import type { AuditPoint, AuditTurn } from './audit-turn.ts'
import { OF_AN_ACCOUNT } from './balance-audit.ts'
import { finishRecount } from './finish-recount.ts'

/** Call records or ledger entries of one step, which takes about a second. */
const ROWS_AT_ONCE = 20_000
/** A step that the server cancelled is repeated with half of the rows, down to this many. */
const ROWS_AT_LEAST = 250

/** `halted`: more was found than is kept, so the rows of the step are not proven. */
export type StepOutcome = 'advanced' | 'done' | 'halted'

export interface ProvenRows {
  calls: number
  entries: number
}

const NEXT_WRITTEN = (table: string) => `(
  SELECT written_xact FROM ${table} WHERE written_xact >= $1::bigint AND written_xact < $2::bigint
  ORDER BY written_xact OFFSET $3::int LIMIT 1)`
const UP_TO = `
SELECT greatest($1::bigint + 1, least($2::bigint, ${NEXT_WRITTEN('call_records')}, ${NEXT_WRITTEN('ledger_entries')})) AS "toXact"`

const ADVANCE = `
UPDATE audit_point SET proven_xact = $1::bigint,
  sums = (
    SELECT coalesce(jsonb_object_agg(name, total::text), '{}') FROM (
      SELECT coalesce(known.key, added.name) AS name, coalesce(known.value::numeric, 0) + coalesce(added.total, 0) AS total
      FROM jsonb_each_text(sums) AS known
      FULL JOIN json_to_recordset($2::json) AS added (name text, total numeric) ON added.name = known.key
    ) AS merged)`

/** A ledger account without what follows its colon: `customer`, `rail`, `revenue`. */
export const SUM_NAME = "split_part(ledger_account, ':', 1)"

/**
 * Adds the entries of a scope to the sums of their ledger accounts, $3: and to those of the full audit under way, number $4.
 * $5: only entries written before. A full audit that is the first makes the sums itself.
 */
const addSums = (scope: AuditScope, only: string) => {
  const values = scopeValues(scope).length
  const [proven, recount, number] = [1, 2, 3].map((at) => `$${values + at}`)
  return `${scopedTables(scope)}
INSERT INTO audit_balances AS known (ledger_account, amount_pico, recounted_pico, recount, is_changed)
SELECT ledger_account, CASE WHEN ${proven}::boolean THEN sum(amount_pico) ELSE 0 END,
       CASE WHEN ${recount}::boolean THEN sum(amount_pico) ELSE 0 END, ${number}::int,
       ${OF_AN_ACCOUNT}
FROM scoped_entries ${only} GROUP BY ledger_account
ON CONFLICT (ledger_account) DO UPDATE SET
  amount_pico = known.amount_pico + EXCLUDED.amount_pico,
  recounted_pico = CASE WHEN known.recount = EXCLUDED.recount THEN known.recounted_pico ELSE 0 END + EXCLUDED.recounted_pico,
  recount = EXCLUDED.recount, is_changed = known.is_changed OR EXCLUDED.is_changed`
}

/** The archive carries entries forward that are proven already, and removes them. */
export const POSTED = "WHERE kind NOT IN ('carried_charges', 'carried_credits')"

interface SumRow {
  name: string
  total: string
  entries: bigint
}

const sumsByName = (scope: AuditScope, only: string) => `${scopedTables(scope)}
SELECT ${SUM_NAME} AS name, sum(amount_pico)::text AS total, count(*) AS entries FROM scoped_entries ${only} GROUP BY 1`

/**
 * Proves what was written since the last audit, in steps of a bounded number of rows, up to the oldest transaction in
 * progress in this database.
 */
export async function proveNewRows(turn: AuditTurn): Promise<ProvenRows & { outcome: StepOutcome }> {
  const proven = { calls: 0, entries: 0 }
  for (;;) {
    // Before the step takes its snapshot: all that is below it is then seen.
    const horizon = await turn.horizon()
    const { outcome, calls, entries } = await inSmallerSteps((atOnce) =>
      turn.step((transaction, point) => proveStep(transaction, point, horizon, atOnce)),
    )
    proven.calls += calls
    proven.entries += entries
    if (outcome !== 'advanced') return { ...proven, outcome }
  }
}

async function proveStep(
  transaction: PostgresTransaction,
  point: AuditPoint,
  horizon: bigint,
  atOnce: number,
): Promise<ProvenRows & { outcome: StepOutcome }> {
  const fromXact = point.provenXact
  if (horizon <= fromXact) return { outcome: 'done', calls: 0, entries: 0 }
  const toXact = await xactOf(transaction, UP_TO, fromXact, horizon, atOnce)
  const scope = { kind: 'written', fromXact, toXact } as const
  const isHalted = await runChecks(transaction, scope, ['rows'])
  const sums = await transaction.$queryRawUnsafe<SumRow[]>(sumsByName(scope, POSTED), fromXact, toXact)
  const [calls] = await transaction.$queryRawUnsafe<Array<{ calls: number }>>(
    `${scopedTables(scope)} SELECT count(*)::int AS calls FROM scoped_calls`,
    fromXact,
    toXact,
  )
  const rows = { calls: calls!.calls, entries: Number(sums.reduce((sum, { entries }) => sum + entries, 0n)) }
  if (isHalted) return { outcome: 'halted', ...rows }
  const isRecounting = point.recountXact !== null && point.isEstablished
  await transaction.$executeRawUnsafe(
    addSums(scope, POSTED),
    ...[fromXact, toXact, true, isRecounting, point.recount],
  )
  await transaction.$executeRawUnsafe(
    ADVANCE,
    toXact,
    JSON.stringify(sums.map(({ name, total }) => ({ name, total }))),
  )
  return { outcome: toXact < horizon ? 'advanced' : 'done', ...rows }
}

/** Begins a full audit, unless one is under way. */
export const beginRecount = (turn: AuditTurn): Promise<void> =>
  turn.step(async (transaction, point) => {
    if (point.recountXact === null) await transaction.$executeRawUnsafe(BEGIN_RECOUNT)
  })

const BEGIN_RECOUNT = `
UPDATE audit_point SET recount = recount + 1, recount_xact = proven_xact, recount_after = '', recount_figures = '{}',
  recount_archived = ${ARCHIVED_MONTHS}`

const NEXT_ID = ([table, id]: readonly [string, string]) =>
  `(SELECT ${id} FROM ${table} WHERE ${id} > $1::text ORDER BY ${id} OFFSET $2::int LIMIT 1)`
const UP_TO_ID = `SELECT least(${SCOPED_TABLES.map(NEXT_ID).join(', ')}) AS "upTo"`

/** What a full audit counts of calls. */
const CALL_FIGURES = `
count(*)::text AS "calls",
count(*) FILTER (WHERE status = 'completed')::text AS "completedCalls",
count(*) FILTER (WHERE status = 'failed')::text AS "failedCalls",
count(*) FILTER (WHERE status = 'cancelled')::text AS "cancelledCalls",
count(*) FILTER (WHERE status = 'interrupted')::text AS "interruptedCalls",
count(*) FILTER (WHERE usage_clamped)::text AS "clampedCalls",
count(*) FILTER (WHERE is_byok)::text AS "byokCalls",
coalesce(sum(charge_pico), 0)::text AS "chargedPico",
coalesce(sum(prompt_tokens), 0)::text AS "promptTokens",
coalesce(sum(completion_tokens), 0)::text AS "completionTokens",
(SELECT count(*)::text FROM scoped_transactions) AS "ledgerTransactions"`

/** One step of the full audit: the next rows in the order of their ids. The last one compares the sums. */
export const recountStep = (turn: AuditTurn): Promise<StepOutcome> =>
  inSmallerSteps((atOnce) =>
    turn.step(async (transaction, point) => {
      if (point.recountXact === null || point.recountAfter === null) return 'done'
      if (point.isRecountOutdated) {
        if (!point.isEstablished) await transaction.$executeRawUnsafe('DELETE FROM audit_balances')
        await transaction.$executeRawUnsafe(BEGIN_RECOUNT)
        return 'advanced'
      }
      const after = point.recountAfter
      const [bound] = await transaction.$queryRawUnsafe<Array<{ upTo: string | null }>>(
        UP_TO_ID,
        after,
        atOnce,
      )
      const upTo = bound?.upTo ?? null
      const scope = { kind: 'range', after, upTo } as const
      if (await runChecks(transaction, scope, ['rows', 'full'])) return 'halted'
      const written = 'WHERE written_xact IS NULL OR written_xact < $6::bigint'
      const isFirst = !point.isEstablished
      await transaction.$executeRawUnsafe(
        addSums(scope, written),
        ...[after, upTo, isFirst, !isFirst, point.recount, point.recountXact],
      )
      const figures = await figuresWith(transaction, scope, point.recountFigures)
      await transaction.$executeRawUnsafe(
        'UPDATE audit_point SET recount_after = $1, recount_figures = $2::jsonb',
        ...[upTo ?? after, JSON.stringify(figures)],
      )
      if (upTo !== null) return 'advanced'
      await finishRecount(transaction, point)
      return 'done'
    }),
  )

async function figuresWith(
  transaction: PostgresTransaction,
  scope: AuditScope,
  known: Record<string, string>,
): Promise<Record<string, string>> {
  const [added = {}] = await transaction.$queryRawUnsafe<Array<Record<string, string>>>(
    `${scopedTables(scope)} SELECT ${CALL_FIGURES} FROM scoped_calls`,
    ...scopeValues(scope),
  )
  return Object.fromEntries(
    Object.entries(added).map(([name, value]) => [name, String(BigInt(known[name] ?? 0) + BigInt(value))]),
  )
}

/** Runs checks over the rows of a step. Returns whether one found more than is kept. */
async function runChecks(
  transaction: PostgresTransaction,
  scope: AuditScope,
  kinds: ReadonlyArray<AuditCheck['reads']>,
): Promise<boolean> {
  let isHalted = false
  for (const check of AUDIT_CHECKS.filter(({ reads }) => kinds.includes(reads))) {
    const found = await findViolations(transaction, check, scope)
    if (await keepFindings(transaction, check.name, found)) isHalted = true
  }
  return isHalted
}

/** Repeats a step that the server cancelled because of its time with fewer rows. */
async function inSmallerSteps<Result>(step: (rowsAtOnce: number) => Promise<Result>): Promise<Result> {
  for (let atOnce = ROWS_AT_ONCE; ; atOnce /= 2) {
    try {
      return await step(Math.floor(atOnce))
    } catch (error) {
      if (slownessOf(error) === null || atOnce / 2 < ROWS_AT_LEAST) throw error
    }
  }
}

async function xactOf(transaction: PostgresTransaction, sql: string, ...values: unknown[]): Promise<bigint> {
  const [row] = await transaction.$queryRawUnsafe<Array<{ toXact: bigint }>>(sql, ...values)
  if (!row) throw new Error('the audit read no id of a transaction')
  return row.toXact
}
