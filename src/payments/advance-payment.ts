import type { Logger } from 'pino'
import type { HoldStore, LedgerBalance, TakebackHold } from '../billing/holds/hold-store.ts'
import { changeDebt, lockAccount, postLedger } from '../billing/ledger/ledger-store.ts'
import { balanceChange } from '../core/billing/postings.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import type { InvoiceSettings } from '../core/payments/invoice-settings.ts'
import { type PaymentOutcome, paymentOutcome } from '../core/payments/payment.ts'
import {
  afterMovement,
  debtChange,
  type Movement,
  movementDirection,
  movementPosting,
  paymentMovements,
} from '../core/payments/payment-movements.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import { recordEvent } from '../webhooks/event-outbox.ts'
import { writeInvoices } from './invoices/write-invoices.ts'
import { readFacts } from './payment-event-store.ts'
import { type Payment, postedAmounts } from './payment-store.ts'

interface AdvanceDependencies {
  postgres: Postgres
  holds: HoldStore
  /** Announces to every API instance that an account was suspended. */
  announceAccount: (accountId: string) => Promise<void>
  /** Null: no invoices are issued. */
  invoices: InvoiceSettings | null
  logger: Logger
  clock: () => number
}

/** Updates ledger, balance, balance cache and events of a payment from its facts. */
export type AdvancePayment = (paymentId: string) => Promise<Payment>

/** Additions, then deductions; a third pass finds nothing. More passes mean that further facts arrived in between. */
const PASSES_MAX = 20
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 }

interface Pass {
  payment: Payment
  posted: PostedMovements | null
  suspended: boolean
  done: boolean
}

/**
 * Computes the state of a payment from every known fact, and posts the difference to its posted amounts. Repeated,
 * concurrent or reordered runs have the same result: the payment's row is locked, and the difference is computed each
 * time. Additions are committed before deductions, since only money in the balance cache can be held. Throws while
 * PostgreSQL is away, or Redis for a deduction; nothing is posted then, and a retry is safe.
 */
export function createAdvancePayment(deps: AdvanceDependencies): AdvancePayment {
  return async (paymentId) => {
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      const { payment, posted, suspended, done } = await deps.postgres.$transaction(
        (transaction) => advanceOnce(transaction, paymentId, deps),
        TRANSACTION,
      )
      if (posted) await reachBalanceCache(payment, posted, deps)
      if (suspended) await announce(payment.accountId, deps)
      if (done) return payment
    }
    throw new Error(`payment ${paymentId} keeps changing`)
  }
}

async function advanceOnce(
  transaction: PostgresTransaction,
  paymentId: string,
  deps: AdvanceDependencies,
): Promise<Pass> {
  await transaction.$queryRawUnsafe('SELECT id FROM payments WHERE id = $1 FOR UPDATE', paymentId)
  const payment = await transaction.payment.findUniqueOrThrow({ where: { id: paymentId } })
  const basis = {
    amountPico: picoUsd(payment.amountPico),
    opened: payment.checkoutId !== null || payment.chargeId !== null,
  }
  const { facts, freshIds } = await readFacts(transaction, paymentId)
  const outcome = paymentOutcome(basis, facts)
  const due = paymentMovements(postedAmounts(payment), outcome)
  const giving = due.filter((movement) => movementDirection(movement) !== 'takes')
  const now = giving.length > 0 ? giving : due
  const done = now.length === due.length

  const posted = now.length > 0 ? await postMovements(transaction, payment, now, deps.holds) : null
  const suspended = await suspendFor(transaction, payment, {
    contested: outcome.contested && done,
    shortfalls: posted?.shortfalls ?? [],
  })
  const nowMs = deps.clock()
  const advanced = await transaction.payment.update({
    where: { id: paymentId },
    data: {
      ...(posted && { ...posted.amounts, movements: posted.movements }),
      state: outcome.state,
      failureReason: outcome.failureReason,
      ...(outcome.settledPico > 0n && payment.settledAt === null && { settledAt: new Date(nowMs) }),
    },
  })
  if (posted) {
    const isNew = payment.settledAt === null && advanced.settledAt !== null
    await writeInvoices(transaction, deps.invoices, { payment: advanced, isNew }, nowMs)
  }
  await recordEnd(transaction, payment, outcome)
  if (done && freshIds.length > 0) await noteActed(transaction, advanced, freshIds, deps.logger)
  if (suspended)
    deps.logger.warn({ paymentId, accountId: payment.accountId, alarm: 'account-suspended' }, SUSPENDED)
  return { payment: advanced, posted, suspended, done }
}

const SUSPENDED = 'an account was suspended: money of a payment went back'

/** Records the end of a top-up for the account's webhooks, once. */
async function recordEnd(
  transaction: PostgresTransaction,
  { id, accountId, rail, amountPico, state }: Payment,
  outcome: PaymentOutcome,
): Promise<void> {
  const data = { payment_id: id, amount_usd: formatUsd(amountPico), test: rail === 'development' }
  const wasOpen = state === 'created' || state === 'pending'
  if (outcome.settledPico > 0n) {
    if (state === 'created' || state === 'pending' || state === 'failed' || state === 'expired')
      await recordEvent(transaction, { type: 'topup.settled', accountId, cause: id, data })
  } else if (wasOpen && (outcome.state === 'failed' || outcome.state === 'expired')) {
    const reason = outcome.state === 'expired' ? 'expired' : (outcome.failureReason ?? 'failed')
    await recordEvent(transaction, { type: 'topup.failed', accountId, cause: id, data: { ...data, reason } })
  }
}

const MARK_REFUSED = `
UPDATE payment_events SET outcome = 'refused', detail = 'another amount than the payment''s'
WHERE payment_id = $1 AND id = ANY ($2::text[]) AND fact->>'kind' = 'settled' AND fact->>'amountPico' <> $3`

const MARK_APPLIED = `
UPDATE payment_events SET outcome = 'applied'
WHERE payment_id = $1 AND id = ANY ($2::text[]) AND outcome IS NULL`

/** Marks only the events that were read: a later one has yet to act. */
async function noteActed(
  transaction: PostgresTransaction,
  { id, amountPico }: Payment,
  eventIds: string[],
  logger: Logger,
): Promise<void> {
  const refused = await transaction.$executeRawUnsafe(MARK_REFUSED, id, eventIds, String(amountPico))
  if (refused > 0)
    logger.error({ paymentId: id, alarm: 'payment-refused' }, 'settled amount differs from the requested one')
  await transaction.$executeRawUnsafe(MARK_APPLIED, id, eventIds)
}

/** The ledger has it; if Redis is away now, maintenance adds it to the balance cache. */
async function reachBalanceCache(
  { id, accountId }: Payment,
  { ledger, hold }: PostedMovements,
  { holds, logger }: AdvanceDependencies,
): Promise<void> {
  const released = hold ? [{ callId: hold.holdId, chargePico: hold.amountPico }] : []
  await holds.apply(accountId, ledger, released).catch((error: unknown) => {
    logger.warn({ err: error, paymentId: id }, 'payment posted, balance cache not updated yet')
  })
}

async function announce(accountId: string, { announceAccount, logger }: AdvanceDependencies): Promise<void> {
  await announceAccount(accountId).catch((error: unknown) => {
    // Key caches reload within a minute.
    logger.error({ err: error, accountId }, 'suspension not announced')
  })
}

interface PostedMovements {
  ledger: LedgerBalance
  amounts: ReturnType<typeof postedAmounts>
  movements: number
  /** The part not covered by the balance, by ledger transaction. */
  shortfalls: Array<{ transactionId: string; shortfallPico: bigint }>
  hold: TakebackHold | null
}

/** Posts movements of a payment whose row is locked: ledger, balance and debt together. */
async function postMovements(
  transaction: PostgresTransaction,
  payment: Payment,
  movements: readonly Movement[],
  holds: Pick<HoldStore, 'reserveTakeback'>,
): Promise<PostedMovements> {
  const account = await lockAccount(transaction, payment.accountId)
  const wantedPico = movements
    .filter((movement) => movementDirection(movement) === 'takes')
    .reduce((sum, { amountPico }) => sum + amountPico, 0n)
  const hold =
    wantedPico > 0n ? await holds.reserveTakeback(payment.accountId, wantedPico, account, payment.id) : null
  let ledger: LedgerBalance = account
  let amounts = postedAmounts(payment)
  let { owedPico } = account
  let spendablePico = hold?.amountPico ?? 0n
  let number = payment.movements
  const shortfalls: PostedMovements['shortfalls'] = []
  for (const movement of movements) {
    // The top-up has the payment's own id, so that the ledger itself refuses a second one.
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

interface SuspensionCauses {
  /** There is or was a dispute. */
  contested: boolean
  shortfalls: ReadonlyArray<{ transactionId: string; shortfallPico: bigint }>
}

const RECORD = `
INSERT INTO account_suspensions (id, account_id, payment_id, reason, shortfall_pico)
VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`

const SUSPEND = `UPDATE accounts SET state = 'suspended' WHERE id = $1`
const END_SESSIONS = 'DELETE FROM console_sessions WHERE account_id = $1'

/**
 * Suspends an account after a return of money that an operator must review: a dispute, or more than the balance held.
 * Each cause suspends once and leaves a record, so an operator's `resume` lasts. Returns whether it suspended.
 */
async function suspendFor(
  transaction: PostgresTransaction,
  { id, accountId }: Payment,
  { contested, shortfalls }: SuspensionCauses,
): Promise<boolean> {
  let recorded = 0
  if (contested)
    recorded += await transaction.$executeRawUnsafe(RECORD, `${id}/dispute`, accountId, id, 'dispute', 0n)
  for (const { transactionId, shortfallPico } of shortfalls) {
    const causeId = `${transactionId}/shortfall`
    recorded += await transaction.$executeRawUnsafe(
      RECORD,
      causeId,
      accountId,
      id,
      'shortfall',
      shortfallPico,
    )
  }
  if (recorded > 0) {
    await transaction.$executeRawUnsafe(SUSPEND, accountId)
    await transaction.$executeRawUnsafe(END_SESSIONS, accountId)
  }
  return recorded > 0
}
