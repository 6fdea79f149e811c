import type { TimeRange } from '../../core/billing/usage-query.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { ACCOUNT_USAGE, accountUsageValues } from '../reports/account-usage.ts'
import { CANONICAL_MODEL } from '../reports/usage-series-store.ts'
import { type ListedMovement, listedMovements, MOVEMENT_COLUMNS } from './ledger-list-store.ts'

/** The charges of one model's calls on one day (UTC, by admission). */
export interface StatementDay {
  /** Days since 1970. */
  day: number
  /** Without alias and suffix, as the Usage page names it. */
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
  charges: StatementDay[]
  /** Oldest first. */
  movements: ListedMovement[]
}

const CHARGES = `
WITH ${ACCOUNT_USAGE}
SELECT (at_ms / 86400000)::text AS "day", ${CANONICAL_MODEL} AS "model", sum(charged_calls)::text AS "calls",
  (-sum(charge_pico))::text AS "amount"
FROM usage WHERE charged_calls > 0
GROUP BY at_ms / 86400000, ${CANONICAL_MODEL}
ORDER BY at_ms / 86400000, ${CANONICAL_MODEL} LIMIT $6`

/** Charges of archived calls are listed by their days, so what carries them forward is not. */
const MOVEMENTS = `
${MOVEMENT_COLUMNS}
WHERE transaction.account_id = $1 AND transaction.kind NOT IN ('capture', 'carried_charges')
  AND transaction.created_at >= to_timestamp($2::bigint / 1000.0) AND transaction.created_at < to_timestamp($3::bigint / 1000.0)
ORDER BY transaction.created_at, transaction.id || '/' || transaction.kind LIMIT $4`

/** The balance at a time, $6 and the start of the usage: the current one less all changes since. */
const BALANCE_AT = `
WITH ${ACCOUNT_USAGE}
SELECT (account.balance_pico
  + coalesce((SELECT sum(charge_pico) FROM usage), 0)
  - coalesce((SELECT sum(entry.amount_pico) FROM ledger_transactions AS transaction
      JOIN ledger_entries AS entry ON entry.transaction_id = transaction.id AND entry.kind = transaction.kind
        AND entry.ledger_account = 'customer:' || $1
      WHERE transaction.account_id = $1 AND transaction.kind NOT IN ('capture', 'carried_charges')
        AND transaction.created_at >= to_timestamp($6::bigint / 1000.0)), 0))::text AS "balance"
FROM accounts AS account WHERE account.id = $1`

/** Later than every call: the end of a year that four digits write. */
const EVER_MS = Date.UTC(9999, 11, 31)

export type ReadStatement = ReturnType<typeof createStatementReader>

/** Reads the statement of an account; null when there are more lines than `linesMax`. */
export function createStatementReader(postgres: Postgres) {
  return (accountId: string, { fromMs, toMs }: TimeRange, linesMax: number): Promise<Statement | null> =>
    postgres.$transaction(
      async (snapshot) => {
        const balanceAt = async (atMs: number) => {
          const [row] = await snapshot.$queryRawUnsafe<Array<{ balance: string }>>(
            BALANCE_AT,
            ...accountUsageValues(accountId, [atMs, EVER_MS]),
            BigInt(atMs),
          )
          return BigInt(row?.balance ?? 0)
        }
        const span = [accountId, BigInt(fromMs), BigInt(toMs), linesMax + 1] as const
        const charged = await snapshot.$queryRawUnsafe<
          Array<Record<'day' | 'model' | 'calls' | 'amount', string>>
        >(CHARGES, ...accountUsageValues(accountId, [fromMs, toMs]), linesMax + 1)
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
