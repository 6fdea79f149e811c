import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { ARCHIVED_MONTHS, adoptServer } from './adopt-server.ts'

/** How far the audit is: the row of `audit_point`. */
export interface AuditPoint {
  provenXact: bigint
  /** Whether a full audit has read the rows from before the first audit. */
  isEstablished: boolean
  accountAfter: string
  /** Number of the full audit that is under way or was the last one. */
  recount: number
  /** A full audit counts the rows written before it; null: none is under way. */
  recountXact: bigint | null
  recountAfter: string | null
  recountFigures: Record<string, string>
  /** A month was archived since the full audit began: it would miss rows that it has not read yet. */
  isRecountOutdated: boolean
  recountedAt: Date | null
}

/** The right to audit, which one process at a time has. */
export interface AuditTurn {
  /**
   * Runs a step in a snapshot of its own, and commits what it writes together with the point. Throws if the right was
   * lost: no two processes can advance the point.
   */
  step<Result>(
    work: (transaction: PostgresTransaction, point: AuditPoint) => Promise<Result>,
  ): Promise<Result>
  /** Rows of transactions below it are complete, in any step that begins later. */
  horizon(): Promise<bigint>
}

/** Beyond the time of any step; a process that died keeps the right for this long. */
const HELD = "interval '3 minutes'"
const STEP_TIMEOUT_MS = 120_000
const POLL_MS = 250

const CREATE = 'INSERT INTO audit_point (id) VALUES (1) ON CONFLICT DO NOTHING'
const TAKE = `
UPDATE audit_point SET holder = $1, held_until = now() + ${HELD} WHERE held_until <= now() AND id = 1 RETURNING id`
const RELEASE = 'UPDATE audit_point SET holder = NULL, held_until = now() WHERE holder = $1'
const HORIZON = 'SELECT written_xact_horizon() AS horizon'
const KEEP = `
UPDATE audit_point SET held_until = clock_timestamp() + ${HELD} WHERE holder = $1
RETURNING proven_xact AS "provenXact", is_established AS "isEstablished", account_after AS "accountAfter", recount,
          recount_xact AS "recountXact", recount_after AS "recountAfter", recount_figures AS "recountFigures",
          recounted_at AS "recountedAt", recount_archived <> ${ARCHIVED_MONTHS} AS "isRecountOutdated"`

/**
 * The statistics know little of rows that were just written: a plan that reads a whole table for them would make the
 * audit grow with what is old.
 */
const PLAN_FOR_FEW_ROWS = `
SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('jit', 'off', true), set_config('statement_timeout', '${STEP_TIMEOUT_MS}', true)`

/** Another audit is running. */
export class AuditBusyError extends Error {
  constructor() {
    super('another audit of the ledger is still running')
  }
}

/**
 * Runs `work` while no other process audits. Waits for an audit that is running, and throws AuditBusyError if that takes
 * longer than `waitMs`.
 */
export async function withAuditTurn<Result>(
  postgres: Postgres,
  waitMs: number,
  work: (turn: AuditTurn) => Promise<Result>,
): Promise<Result> {
  const holder = randomUUID()
  await postgres.$executeRawUnsafe(CREATE)
  const giveUpAt = Date.now() + waitMs
  while ((await postgres.$queryRawUnsafe<unknown[]>(TAKE, holder)).length === 0) {
    if (Date.now() >= giveUpAt) throw new AuditBusyError()
    await delay(POLL_MS)
  }
  try {
    await adoptServer(postgres)
    return await work({
      step: (step) => runStep(postgres, holder, step),
      horizon: () => readHorizon(postgres),
    })
  } finally {
    await postgres.$executeRawUnsafe(RELEASE, holder)
  }
}

async function readHorizon(postgres: Postgres): Promise<bigint> {
  const [row] = await postgres.$queryRawUnsafe<Array<{ horizon: bigint }>>(HORIZON)
  if (!row) throw new Error('PostgreSQL returned no horizon')
  return row.horizon
}

function runStep<Result>(
  postgres: Postgres,
  holder: string,
  work: (transaction: PostgresTransaction, point: AuditPoint) => Promise<Result>,
): Promise<Result> {
  return postgres.$transaction(
    async (transaction) => {
      const [point] = await transaction.$queryRawUnsafe<AuditPoint[]>(KEEP, holder)
      if (!point) throw new Error('another process has taken over the audit of the ledger')
      await transaction.$queryRawUnsafe(PLAN_FOR_FEW_ROWS)
      return work(transaction, point)
    },
    { isolationLevel: 'RepeatableRead', timeout: 2 * STEP_TIMEOUT_MS },
  )
}
