import type { LedgerKind } from '../../core/billing/postings.ts'
import { invalid } from '../../core/kernel/errors.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** A change of an account's balance that was not a call. */
export interface ListedMovement {
  type: 'movement'
  id: string
  kind: Exclude<LedgerKind, 'capture'>
  amountPico: bigint
  /** Unix ms. */
  at: number
  /** The operator's note. */
  note: string | null
}

/** The charges of an account's calls on one day (UTC, by admission). */
interface DayOfCharges {
  type: 'charges'
  /** Days since 1970. */
  day: number
  /** Negative. */
  amountPico: bigint
  calls: number
  /** Admission of the latest of them, unix ms. */
  at: number
}

interface ChargedCall {
  type: 'call'
  id: string
  /** As requested. */
  model: string
  /** Negative. */
  amountPico: bigint
  /** Time of admission, unix ms. */
  at: number
}

/** The top-up of a movement: those of one are named `<top-up>` and `<top-up>/<number>`. */
export function topUpOf({ id }: ListedMovement): string | null {
  const [owner = ''] = id.split('/')
  return owner.startsWith('pay_') ? owner : null
}

export type LedgerLine = ListedMovement | DayOfCharges
export type DetailedLedgerLine = LedgerLine | ChargedCall

/** Filters of lines. */
export interface LedgerFilter {
  /** Null: all kinds. */
  kind: LedgerKind | null
  /** Lists every charged call instead of the charges of each day. */
  byCall: boolean
}

export type LedgerListStore = ReturnType<typeof createLedgerListStore>

/** Columns of a transaction of the account $1. */
export const MOVEMENT_COLUMNS = `
SELECT transaction.id AS "id", transaction.kind::text AS "kind", entry.amount_pico::text AS "amount",
  (extract(epoch FROM transaction.created_at) * 1000)::bigint::text AS "at", note.reason AS "note"
FROM ledger_transactions AS transaction
JOIN ledger_entries AS entry ON entry.transaction_id = transaction.id AND entry.kind = transaction.kind
  AND entry.ledger_account = 'customer:' || $1
LEFT JOIN ledger_notes AS note ON note.id = transaction.id AND note.kind = transaction.kind`

/** Transactions that carry charges forward replace archived calls ($6), whose days are still listed. */
const MOVEMENTS = `
${MOVEMENT_COLUMNS}
WHERE transaction.account_id = $1 AND transaction.kind <> 'capture'
  AND ($6::boolean OR transaction.kind <> 'carried_charges')
  AND ($2::bigint IS NULL
    OR (transaction.created_at, transaction.id || '/' || transaction.kind) < (to_timestamp($2::bigint / 1000.0), $3))
  AND ($5::text IS NULL OR transaction.kind = $5::ledger_kind)
ORDER BY transaction.created_at DESC, transaction.id || '/' || transaction.kind DESC LIMIT $4`

const CALLS = `
SELECT id AS "id", requested_model AS "model", charge_pico::text AS "charge", admitted_at_ms::text AS "at"
FROM call_records WHERE account_id = $1 AND charge_pico > 0
  AND ($2::bigint IS NULL OR (admitted_at_ms, id) < ($2::bigint, $3))
ORDER BY admitted_at_ms DESC, id DESC LIMIT $4`

const CHARGES = `
SELECT (substr(period, 2)::date - date '1970-01-01')::text AS "day", (-spent_pico)::text AS "amount",
       charged_calls::text AS "calls", last_charge_at_ms::text AS "at"
FROM spend_totals
WHERE account_id = $1 AND key_id = '' AND period <> 'total' AND charged_calls > 0
  AND ($2::bigint IS NULL OR period < to_char(date '1970-01-01' + $2::integer, '"d"YYYY-MM-DD'))
ORDER BY period DESC LIMIT $3`

const FREE_CREDIT = `
SELECT amount_pico::text AS "amount" FROM ledger_entries
WHERE transaction_id = $1 AND kind = 'free_credit' AND ledger_account = 'customer:' || $1`

interface MovementRow extends Record<'id' | 'amount' | 'at', string> {
  kind: ListedMovement['kind']
  note: string | null
}

/** Converts rows of MOVEMENT_COLUMNS to lines. */
export const listedMovements = (rows: readonly MovementRow[]): ListedMovement[] =>
  rows.map(({ amount, at, ...row }) => ({
    type: 'movement',
    ...row,
    amountPico: BigInt(amount),
    at: Number(at),
  }))

export function createLedgerListStore(postgres: Pick<Postgres, '$queryRawUnsafe'>) {
  const movements = async (
    accountId: string,
    { movement }: LedgerPosition,
    limit: number,
    { kind, byCall }: LedgerFilter,
  ) => {
    const position = [movement && BigInt(movement.at), movement?.id ?? '', limit] as const
    return listedMovements(
      await postgres.$queryRawUnsafe<MovementRow[]>(
        MOVEMENTS,
        accountId,
        ...position,
        kind,
        byCall || kind === 'carried_charges',
      ),
    )
  }
  const charges = async (accountId: string, { day }: LedgerPosition, limit: number) => {
    const rows = await postgres.$queryRawUnsafe<Array<Record<'day' | 'amount' | 'calls' | 'at', string>>>(
      CHARGES,
      accountId,
      day === null ? null : BigInt(day),
      limit,
    )
    return rows.map((row): DayOfCharges => {
      const [day, calls, at] = [Number(row.day), Number(row.calls), Number(row.at)]
      return { type: 'charges', day, amountPico: BigInt(row.amount), calls, at }
    })
  }
  const calls = async (accountId: string, { call }: LedgerPosition, limit: number) => {
    const rows = await postgres.$queryRawUnsafe<Array<Record<'id' | 'model' | 'charge' | 'at', string>>>(
      CALLS,
      accountId,
      call && BigInt(call.at),
      call?.id ?? '',
      limit,
    )
    return rows.map(({ id, model, charge, at }): ChargedCall => {
      return { type: 'call', id, model, amountPico: -BigInt(charge), at: Number(at) }
    })
  }
  return {
    /** The lines after a position, newest first, at most `limit`; their sum over all pages is the balance. */
    async page(accountId: string, after: LedgerPosition, limit: number): Promise<LedgerLine[]> {
      const moved = await movements(accountId, after, limit, { kind: null, byCall: false })
      return newestOf([...moved, ...(await charges(accountId, after, limit))], limit)
    },

    /** The same for one kind, or with a line for each call. */
    async filteredPage(
      accountId: string,
      after: LedgerPosition,
      limit: number,
      filter: LedgerFilter,
    ): Promise<DetailedLedgerLine[]> {
      const { kind, byCall } = filter
      const moved = kind === 'capture' ? [] : await movements(accountId, after, limit, filter)
      if (kind !== null && kind !== 'capture') return moved
      return newestOf([...moved, ...(await (byCall ? calls : charges)(accountId, after, limit))], limit)
    },

    /** The credit that the account started with; null for none. */
    async freeCredit(accountId: string): Promise<bigint | null> {
      const [row] = await postgres.$queryRawUnsafe<Array<{ amount: string }>>(FREE_CREDIT, accountId)
      return row ? BigInt(row.amount) : null
    },
  }
}

const newestOf = <Line extends { at: number }>(lines: Line[], limit: number): Line[] =>
  lines.sort((a, b) => b.at - a.at).slice(0, limit)

/** The position after these lines. */
export function positionAfter(lines: readonly DetailedLedgerLine[], before: LedgerPosition): LedgerPosition {
  const movement = lines.findLast((line) => line.type === 'movement')
  const day = lines.findLast((line) => line.type === 'charges')
  const call = lines.findLast((line) => line.type === 'call')
  return {
    movement: movement ? { at: movement.at, id: `${movement.id}/${movement.kind}` } : before.movement,
    day: day?.day ?? before.day,
    call: call ? { at: call.at, id: call.id } : before.call,
  }
}

/** The sum of one ledger account, or of all customers or receivables. Pico-USD. */
export interface LedgerSum {
  ledgerAccount: string
  accounts: number
  entries: number
  balancePico: bigint
}

const SUMS = `
WITH sums AS (
  SELECT ledger_account, sum(entries) AS entries, sum(amount_pico) AS balance FROM ledger_totals GROUP BY ledger_account
)
SELECT CASE WHEN ledger_account LIKE 'customer:%' THEN 'customers'
            WHEN ledger_account LIKE 'receivable:%' THEN 'receivables'
            ELSE ledger_account END AS "ledgerAccount",
       count(*)::integer AS "accounts", sum(entries)::text AS "entries", sum(balance)::text AS "balancePico"
FROM sums GROUP BY 1 ORDER BY 1`

/** Sums the ledger by account, from its totals. */
export async function sumLedger(postgres: Postgres): Promise<LedgerSum[]> {
  const rows =
    await postgres.$queryRawUnsafe<
      Array<{ ledgerAccount: string; accounts: number; entries: string; balancePico: string }>
    >(SUMS)
  return rows.map(({ ledgerAccount, accounts, entries, balancePico }) => ({
    ledgerAccount,
    accounts,
    entries: Number(entries),
    balancePico: BigInt(balancePico),
  }))
}

/**
 * A position in an account's ledger, newest first: after this movement (unix ms and id) and after this day of charges
 * (days since 1970), or this call. Null: from the newest.
 */
export interface LedgerPosition {
  movement: { at: number; id: string } | null
  day: number | null
  call: { at: number; id: string } | null
}

const CURSOR = /^(\d{0,6})\|(?:(\d{1,15})\.([\w./:-]{1,200}))?(?:\|(\d{1,15})\.([\w-]{1,80}))?$/

/** Parses a cursor printed by `formatLedgerCursor`; absent: the newest. Throws ApiError `invalid_request`. */
export function readLedgerCursor(text: string | undefined): LedgerPosition {
  if (text === undefined) return { movement: null, day: null, call: null }
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (!match) throw invalid('cursor', '`cursor` is not valid. Pass the value of `next_cursor` unchanged.')
  const [, day, at, id, callAt, callId] = match
  return {
    movement: at && id ? { at: Number(at), id } : null,
    day: day ? Number(day) : null,
    call: callAt && callId ? { at: Number(callAt), id: callId } : null,
  }
}

export const formatLedgerCursor = ({ movement, day, call }: LedgerPosition): string =>
  Buffer.from(
    `${day ?? ''}|${movement ? `${movement.at}.${movement.id}` : ''}${call ? `|${call.at}.${call.id}` : ''}`,
  ).toString('base64url')
