import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Prisma } from '../../platform/prisma-client/client.ts'

/** Calls of `auto` that one model served at one kind of task. */
export interface AutoChoiceCount {
  model: string
  kind: string
  calls: number
  spendPico: bigint
  /** How many of them an account judged. */
  feedback: number
  /** The mean of that feedback, 0 to 1; null: none. */
  satisfaction: number | null
}

/** Bounds the rows that are read, however many calls there are. */
export const LATEST_CALLS = 50_000

/** What `auto` chose among the gateway's latest calls: the most frequent choice first. */
export async function readAutoChoices(postgres: Postgres): Promise<AutoChoiceCount[]> {
  const rows = await postgres.$queryRaw<
    Array<Omit<AutoChoiceCount, 'spendPico'> & { spend: Prisma.Decimal }>
  >`
    WITH latest AS (
      SELECT id, served_model_id, auto_kind, charge_pico FROM call_records ORDER BY id DESC LIMIT ${LATEST_CALLS}
    )
    SELECT served_model_id AS model, auto_kind AS kind, count(*)::integer AS calls, sum(charge_pico) AS spend,
      count(outcome)::integer AS feedback, avg(outcome)::double precision AS satisfaction
    FROM latest LEFT JOIN call_feedback ON call_id = latest.id
    WHERE auto_kind IS NOT NULL AND served_model_id IS NOT NULL
    GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`
  return rows.map(({ spend, ...row }) => ({ ...row, spendPico: BigInt(spend.toFixed()) }))
}
