import type { TaskKind } from '../../core/auto/quality-figure.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** How an account judges a call of `auto`. Nothing of its text. */
export interface CallFeedback {
  callId: string
  accountId: string
  kind: TaskKind
  /** That answered. */
  modelId: string
  /** How well it was answered, 0 to 1. */
  outcome: number
}

/** Feedback is kept for a year, and of more than this number the newest. */
const KEPT_DAYS = 365
const MOST_KEPT = 100_000

/** Stores feedback, or replaces that on the same call. */
export async function putCallFeedback(postgres: Postgres, feedback: CallFeedback): Promise<void> {
  const { callId, accountId, kind, modelId, outcome } = feedback
  await postgres.$executeRaw`
    INSERT INTO call_feedback (call_id, account_id, kind, model_id, outcome)
    VALUES (${callId}, ${accountId}, ${kind}, ${modelId}, ${outcome})
    ON CONFLICT (call_id) DO UPDATE SET outcome = EXCLUDED.outcome, created_at = now()`
}

/** Deletes feedback that is too old or too much. */
export async function pruneCallFeedback(postgres: Postgres): Promise<void> {
  await postgres.$executeRaw`
    DELETE FROM call_feedback WHERE created_at < greatest(now() - ${KEPT_DAYS} * interval '1 day',
      (SELECT created_at FROM call_feedback ORDER BY created_at DESC OFFSET ${MOST_KEPT} LIMIT 1))`
}
