import type { TimeRange } from '../../core/billing/usage-query.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { type ListedMovement, listedMovements, MOVEMENT_COLUMNS } from './ledger-list-store.ts'

/** The charges of one model's calls on one day (UTC, by admission). */
export interface ModelDay {
  /** Days since 1970. */
  day: number
  /** As named in the calls. */
  model: string
  calls: number
  /** Negative. */
  amountPico: bigint
}

/** All changes of a balance in a period, from one snapshot: opening + charges + movements = closing. */
export interface Statement {
  openingPico: bigint
  closingPico: bigint
  /** By day, then model. */
  charges: ModelDay[]
  /** Oldest first. */
  movements: ListedMovement[]
}

const CHARGES = `
SELECT (admitted_at_ms / 86400000)::text AS "day", requested_model AS "model", count(*)::text AS "calls",
  (-sum(charge_pico))::text AS "amount"
FROM call_records
WHERE account_id = $1 AND charge_pico > 0 AND admitted_at_ms >= $2::bigint AND admitted_at_ms < $3::bigint
GROUP BY admitted_at_ms / 86400000, requested_model
ORDER BY admitted_at_ms / 86400000, requested_model LIMIT $4`

const MOVEMENTS = `
${MOVEMENT_COLUMNS}
WHERE transaction.account_id = $1 AND transaction.kind <> 'capture'
  AND transaction.created_at >= to_timestamp($2::bigint / 1000.0) AND transaction.created_at < to_timestamp($3::bigint / 1000.0)
ORDER BY transaction.created_at, transaction.id || '/' || transaction.kind LIMIT $4`

/** The balance at a time: the current one less all changes since. */
const BALANCE_AT = `
SELECT (account.balance_pico
  + coalesce((SELECT sum(charge_pico) FROM call_records WHERE account_id = $1 AND charge_pico > 0 AND admitted_at_ms >= $2::bigint), 0)
  - coalesce((SELECT sum(entry.amount_pico) FROM ledger_transactions AS transaction
      JOIN ledger_entries AS entry ON entry.transaction_id = transaction.id AND entry.kind = transaction.kind
        AND entry.ledger_account = 'customer:' || $1
      WHERE transaction.account_id = $1 AND transaction.kind <> 'capture'
        AND transaction.created_at >= to_timestamp($2::bigint / 1000.0)), 0))::text AS "balance"
FROM accounts AS account WHERE account.id = $1`

/**
 * Reads the statement of an account; null when there are more lines than `linesMax`. It reads the calls since the start
 * of the period, so recent months are cheap.
 */
export function createStatementReader(postgres: Postgres) {
  return (accountId: string, { fromMs, toMs }: TimeRange, linesMax: number): Promise<Statement | null> =>
    postgres.$transaction(
      async (snapshot) => {
        const balanceAt = async (atMs: number) => {
          const [row] = await snapshot.$queryRawUnsafe<Array<{ balance: string }>>(
            BALANCE_AT,
            accountId,
            BigInt(atMs),
          )
          return BigInt(row?.balance ?? 0)
        }
        const span = [accountId, BigInt(fromMs), BigInt(toMs), linesMax + 1] as const
        const charged = await snapshot.$queryRawUnsafe<
          Array<Record<'day' | 'model' | 'calls' | 'amount', string>>
        >(CHARGES, ...span)
        const moved = listedMovements(await snapshot.$queryRawUnsafe(MOVEMENTS, ...span))
        if (charged.length + moved.length > linesMax) return null
        return {
          openingPico: await balanceAt(fromMs),
          closingPico: await balanceAt(toMs),
          charges: charged.map(({ day, model, calls, amount }) => ({
            day: Number(day),
            model,
            calls: Number(calls),
            amountPico: BigInt(amount),
          })),
          movements: moved,
        }
      },
      { isolationLevel: 'RepeatableRead' },
    )
}
