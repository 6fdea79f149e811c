import type { TaskKind } from '../../core/auto/quality-figure.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** A call of `auto` and the model that answered it. Nothing of its text. */
interface AnsweredCall {
  callId: string
  accountId: string
  kind: TaskKind
  /** Difficulty, 0 to 1, as the call was routed by. */
  score: number
  modelId: string
  /** How well it was answered, 0 to 1. */
  outcome: number
  costPico: bigint
}

/** Two models' answers to one prompt. */
export interface OutcomePair extends AnsweredCall {
  /** See outcomeVector. */
  vector: Uint8Array
  otherModelId: string
  otherOutcome: number
  otherCostPico: bigint
}

/** What `learn` reads of an outcome. */
export interface KnownOutcome extends Omit<AnsweredCall, 'callId'> {
  /** Null: feedback. */
  pair: Pick<OutcomePair, 'vector' | 'otherModelId' | 'otherOutcome' | 'otherCostPico'> | null
}

/** Outcomes are kept for a year, and of more than this number the newest. */
const KEPT_DAYS = 365
const MOST_KEPT = 100_000

/** How calls of `auto` were answered: what `router learn` learns from. */
export const createOutcomeStore = (postgres: Postgres) => ({
  /** Stores or replaces an account's feedback on a call. */
  async putFeedback(call: AnsweredCall): Promise<void> {
    await postgres.$executeRaw`
      INSERT INTO router_outcomes (call_id, source, account_id, kind, score, model_id, outcome, cost_pico)
      VALUES (${call.callId}, 'feedback', ${call.accountId}, ${call.kind}, ${call.score}, ${call.modelId},
        ${call.outcome}, ${call.costPico})
      ON CONFLICT (call_id, source) DO UPDATE SET outcome = EXCLUDED.outcome, created_at = now()`
  },

  /** Stores a comparison of two models. A call has one; a repeat changes nothing. */
  async putPair(pair: OutcomePair): Promise<void> {
    await postgres.$executeRaw`
      INSERT INTO router_outcomes (call_id, source, account_id, kind, score, model_id, outcome, cost_pico, vector,
        other_model_id, other_outcome, other_cost_pico)
      VALUES (${pair.callId}, 'shadow', ${pair.accountId}, ${pair.kind}, ${pair.score}, ${pair.modelId},
        ${pair.outcome}, ${pair.costPico}, ${Buffer.from(pair.vector)}, ${pair.otherModelId}, ${pair.otherOutcome},
        ${pair.otherCostPico})
      ON CONFLICT (call_id, source) DO NOTHING`
  },

  /** How many there are of each source. */
  async count(): Promise<{ feedback: number; pairs: number }> {
    const bySource = await postgres.routerOutcome.groupBy({ by: ['source'], _count: true })
    const of = (source: string) => bySource.find((found) => found.source === source)?._count ?? 0
    return { feedback: of('feedback'), pairs: of('shadow') }
  },

  /** All outcomes, oldest first. */
  async read(): Promise<KnownOutcome[]> {
    const rows = await postgres.routerOutcome.findMany({ orderBy: [{ createdAt: 'asc' }, { callId: 'asc' }] })
    return rows.map(({ vector, otherModelId, otherOutcome, otherCostPico, ...row }) => ({
      accountId: row.accountId,
      kind: row.kind as TaskKind,
      score: row.score,
      modelId: row.modelId,
      outcome: row.outcome,
      costPico: row.costPico,
      pair:
        vector === null || otherModelId === null || otherOutcome === null || otherCostPico === null
          ? null
          : { vector, otherModelId, otherOutcome, otherCostPico },
    }))
  },
})

/** Deletes outcomes that are too old or too many. */
export async function pruneOutcomes(postgres: Postgres): Promise<void> {
  await postgres.$executeRaw`
    DELETE FROM router_outcomes WHERE created_at < greatest(now() - ${KEPT_DAYS} * interval '1 day',
      (SELECT created_at FROM router_outcomes ORDER BY created_at DESC OFFSET ${MOST_KEPT} LIMIT 1))`
}
