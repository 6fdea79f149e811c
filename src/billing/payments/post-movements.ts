import type { Movement } from '../../core/payment-movements.ts'
import {
  afterMovement,
  debtChange,
  movementDirection,
  movementPosting,
} from '../../core/payment-movements.ts'
import { balanceChange } from '../../core/postings.ts'
import type { PostgresTransaction } from '../../platform/postgres.ts'
import type { LedgerBalance } from '../hold-gate.ts'
import { postLedger } from '../ledger-store.ts'
import { type Payment, postedFigures } from './payment-store.ts'
import type { ReserveTakeback, TakebackHold } from './takeback-hold.ts'

export interface LockedAccount extends LedgerBalance {
  owedPico: bigint
}

export interface PostedMovements {
  ledger: LedgerBalance
  figures: ReturnType<typeof postedFigures>
  movements: number
  /** What the balance did not hold, by ledger transaction. */
  shortfalls: Array<{ transactionId: string; shortfallPico: bigint }>
  hold: TakebackHold | null
}

const LOCK_ACCOUNT = `
SELECT balance_pico AS "balancePico", version, owed_pico AS "owedPico" FROM accounts WHERE id = $1 FOR UPDATE`

const CHANGE_DEBT = 'UPDATE accounts SET owed_pico = owed_pico + $2::bigint WHERE id = $1'

/** Locks an account's row: until the transaction ends its balance moves by this transaction alone. */
export async function lockAccount(
  transaction: PostgresTransaction,
  accountId: string,
): Promise<LockedAccount> {
  const [account] = await transaction.$queryRawUnsafe<LockedAccount[]>(LOCK_ACCOUNT, accountId)
  if (!account) throw new Error(`account ${accountId} does not exist`)
  return account
}

/** Changes what an account owes, in the transaction of the posting that changes its receivable. */
export async function changeDebt(
  transaction: PostgresTransaction,
  accountId: string,
  changePico: bigint,
): Promise<void> {
  if (changePico !== 0n) await transaction.$executeRawUnsafe(CHANGE_DEBT, accountId, changePico)
}

/** Posts movements of a payment whose row is locked: ledger, balance and debt together. */
export async function postMovements(
  transaction: PostgresTransaction,
  payment: Payment,
  movements: readonly Movement[],
  reserve: ReserveTakeback,
): Promise<PostedMovements> {
  const account = await lockAccount(transaction, payment.accountId)
  const wantedPico = movements
    .filter((movement) => movementDirection(movement) === 'takes')
    .reduce((sum, { amountPico }) => sum + amountPico, 0n)
  const hold = wantedPico > 0n ? await reserve(payment.accountId, wantedPico, account) : null
  let ledger: LedgerBalance = account
  let figures = postedFigures(payment)
  let { owedPico } = account
  let spendablePico = hold?.amountPico ?? 0n
  let number = payment.movements
  const shortfalls: PostedMovements['shortfalls'] = []
  for (const movement of movements) {
    // The top-up bears the payment's own id, so that the ledger itself refuses a second one.
    const id = movement.kind === 'topup' ? payment.id : `${payment.id}/${++number}`
    const posting = movementPosting(movement, { ...payment, id }, { spendablePico, owedPico })
    const { posted, ...balance } = await postLedger(transaction, posting)
    if (!posted) throw new Error(`${id} (${movement.kind}) is in the ledger already`)
    const debt = debtChange(posting)
    await changeDebt(transaction, payment.accountId, debt)
    if (debt > 0n) shortfalls.push({ transactionId: id, shortfallPico: debt })
    if (movementDirection(movement) === 'takes') spendablePico += balanceChange(posting)
    owedPico += debt
    ledger = balance
    figures = afterMovement(figures, movement)
  }
  return { ledger, figures, movements: number, shortfalls, hold }
}
