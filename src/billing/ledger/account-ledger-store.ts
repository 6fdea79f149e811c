import type { LedgerKind } from '../../core/billing/postings.ts'
import { invalid } from '../../core/kernel/errors.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import {
  createLedgerListStore,
  type DetailedLedgerLine,
  formatLedgerCursor,
  type LedgerFilter,
  type LedgerPosition,
  positionAfter,
  readLedgerCursor,
} from './ledger-list-store.ts'

/** A line of an account's ledger with the balance after it. */
export type BalancedLine = DetailedLedgerLine & {
  /** Pico-USD; null if only one kind is listed. */
  balanceAfterPico: bigint | null
}

/** A position in an account's ledger, newest first, and the balance there; null: at the top, the current one. */
export type AccountLedgerPlace = { position: LedgerPosition; balancePico: bigint | null }

/** The total of all lines of one kind. */
export interface LedgerTotal {
  kind: LedgerKind
  count: number
  amountPico: bigint
}

const BALANCE = 'SELECT balance_pico AS "balancePico" FROM accounts WHERE id = $1'

/** One statement, so that all sums are of one snapshot. */
const TOTALS = `
SELECT total.kind::text AS "kind", total.entries::text AS "count", total.amount_pico::text AS "amount",
  account.balance_pico::text AS "balance"
FROM accounts AS account
JOIN ledger_totals AS total ON total.account_id = account.id AND total.ledger_account = 'customer:' || $1
WHERE account.id = $1 ORDER BY 1`

export type AccountLedgerStore = ReturnType<typeof createAccountLedgerStore>

/** An account's ledger for operators. Uses the pool of reports. */
export function createAccountLedgerStore(postgres: Postgres) {
  return {
    /** The lines after a position, newest first, at most `limit`. */
    async page(
      accountId: string,
      { position, balancePico }: AccountLedgerPlace,
      limit: number,
      filter: LedgerFilter,
    ): Promise<BalancedLine[]> {
      // One snapshot, so that the newest line matches the balance.
      return postgres.$transaction(
        async (transaction) => {
          const lines = await createLedgerListStore(transaction).filteredPage(
            accountId,
            position,
            limit,
            filter,
          )
          if (filter.kind !== null) return lines.map((line) => ({ ...line, balanceAfterPico: null }))
          const [row] = await transaction.$queryRawUnsafe<Array<{ balancePico: bigint }>>(BALANCE, accountId)
          let after = balancePico ?? row?.balancePico ?? 0n
          return lines.map((line) => {
            const balanceAfterPico = after
            after -= line.amountPico
            return { ...line, balanceAfterPico }
          })
        },
        { isolationLevel: 'RepeatableRead' },
      )
    },

    /** The total of each kind, and the balance of the account, which is their sum. */
    async totals(accountId: string): Promise<{ totals: LedgerTotal[]; balancePico: bigint }> {
      const rows = await postgres.$queryRawUnsafe<
        Array<{ kind: LedgerKind; count: string; amount: string; balance: string }>
      >(TOTALS, accountId)
      const totals = rows.map(({ kind, count, amount }) => ({
        ...{ kind, count: Number(count) },
        amountPico: BigInt(amount),
      }))
      return {
        totals: totals.filter(({ count }) => count > 0),
        balancePico: BigInt(rows[0]?.balance ?? 0),
      }
    },
  }
}

/** The position after these lines. */
export function placeAfter(lines: readonly BalancedLine[], before: AccountLedgerPlace): AccountLedgerPlace {
  const last = lines.at(-1)
  const balance = last?.balanceAfterPico ?? null
  return {
    position: positionAfter(lines, before.position),
    balancePico: last && balance !== null ? balance - last.amountPico : before.balancePico,
  }
}

const CURSOR = /^([\w-]+)\.(-?\d{1,30})?$/

/** Parses a position printed by `formatPlace`; absent: the top. Throws ApiError `invalid_request`. */
export function readPlace(text: string | undefined): AccountLedgerPlace {
  if (text === undefined) return { position: readLedgerCursor(undefined), balancePico: null }
  const [, position, balance] = CURSOR.exec(text) ?? []
  if (position === undefined)
    throw invalid('cursor', '`cursor` is not valid. Pass the value of `next_cursor` unchanged.')
  return {
    position: readLedgerCursor(position),
    balancePico: balance === undefined ? null : BigInt(balance),
  }
}

export const formatPlace = ({ position, balancePico }: AccountLedgerPlace): string =>
  `${formatLedgerCursor(position)}.${balancePico ?? ''}`
