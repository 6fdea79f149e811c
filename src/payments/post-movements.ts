import type { HoldStore, LedgerBalance, TakebackHold } from '../billing/holds/hold-store.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import { changeDebt, lockAccount } from '../billing/ledger/locked-account.ts'
import type { Movement } from '../core/billing/payment-movements.ts'
import {
  afterMovement,
  debtChange,
  movementDirection,
  movementPosting,
} from '../core/billing/payment-movements.ts'
import { balanceChange } from '../core/billing/postings.ts'
import type { PostgresTransaction } from '../platform/postgres/postgres.ts'
import { type Payment, postedAmounts } from './payment-store.ts'

export interface PostedMovements {
  ledger: LedgerBalance
  amounts: ReturnType<typeof postedAmounts>
  movements: number
  /** What the balance did not hold, by ledger transaction. */
  shortfalls: Array<{ transactionId: string; shortfallPico: bigint }>
  hold: TakebackHold | null
}

/** Posts movements of a payment whose row is locked: ledger, balance and debt together. */
export async function postMovements(
  transaction: PostgresTransaction,
  payment: Payment,
  movements: readonly Movement[],
  holds: Pick<HoldStore, 'reserveTakeback'>,
): Promise<PostedMovements> {
  const account = await lockAccount(transaction, payment.accountId)
  const wantedPico = movements
    .filter((movement) => movementDirection(movement) === 'takes')
    .reduce((sum, { amountPico }) => sum + amountPico, 0n)
  const hold = wantedPico > 0n ? await holds.reserveTakeback(payment.accountId, wantedPico, account) : null
  let ledger: LedgerBalance = account
  let amounts = postedAmounts(payment)
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
    amounts = afterMovement(amounts, movement)
  }
  return { ledger, amounts, movements: number, shortfalls, hold }
}
