import { TASK_KINDS, type TaskKind } from '../../core/auto/quality-figure.ts'
import { callIdRange } from '../../core/kernel/ids.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Tokens of the completions of one model at one kind of task. */
export interface MeasuredTokens {
  model: string
  kind: TaskKind
  /** The median over the accounts of the median of each, so that every account counts once. */
  tokens: number
  accounts: number
}

/** Fewer say little, and what one customer does would show. */
export const ACCOUNTS_MIN = 20
const SPAN_DAYS = 7
/** Bounds the rows that are read, however many calls there are. */
const CALLS_MAX = 100_000

/**
 * Reads the tokens of the latest charged and completed calls of `auto`, of which the kind is known. Completions that
 * reached their limit, or whose tokens the provider did not report, do not count.
 */
export async function readCompletionTokens(postgres: Postgres, nowMs: number): Promise<MeasuredTokens[]> {
  const { from } = callIdRange({ fromMs: nowMs - SPAN_DAYS * DAY_MS, toMs: nowMs })
  const rows = await postgres.$queryRaw<Array<Omit<MeasuredTokens, 'kind'> & { kind: string }>>`
    WITH latest AS (
      SELECT account_id, served_model_id, auto_kind, completion_tokens, status, finish_reason, usage_source, charge_pico
      FROM call_records WHERE id >= ${from} ORDER BY id DESC LIMIT ${CALLS_MAX}
    ), own AS (
      SELECT served_model_id AS model, auto_kind AS kind, account_id,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY completion_tokens) AS tokens
      FROM latest
      WHERE auto_kind IS NOT NULL AND served_model_id IS NOT NULL AND status = 'completed'
        AND usage_source = 'upstream' AND finish_reason IS DISTINCT FROM 'length' AND charge_pico > 0
      GROUP BY 1, 2, 3
    )
    SELECT model, kind, count(*)::integer AS accounts,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY tokens) AS tokens
    FROM own GROUP BY 1, 2 HAVING count(*) >= ${ACCOUNTS_MIN} ORDER BY 1, 2`
  const isKnown = (kind: string): kind is TaskKind => (TASK_KINDS as readonly string[]).includes(kind)
  return rows.flatMap(({ kind, ...row }) => (isKnown(kind) ? [{ ...row, kind }] : []))
}
