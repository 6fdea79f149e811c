import { adjustmentPosting, customerAccount, RefusedPosting } from '../../core/billing/postings.ts'
import { formatUsd, type PicoUsd } from '../../core/kernel/money.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { HoldStore, LedgerBalance } from '../holds/hold-store.ts'
import { lockAccount, postLedger } from './ledger-store.ts'

export interface Adjustment {
  accountId: string
  /** The event of the adjustment; each event adjusts once. */
  eventId: string
  /** Signed, from the customer's view; not 0. */
  amountPico: PicoUsd
  reason: string
}

export interface AdjustmentDependencies {
  postgres: Postgres
  holds: HoldStore
}

export interface AdjustedBalance extends LedgerBalance {
  /** False if the ledger already had it, in which case nothing changed. */
  posted: boolean
  /** False if Redis does not have it yet; maintenance adds it. */
  isSpendable: boolean
}

const NOTE = 'INSERT INTO ledger_notes (id, kind, reason) VALUES ($1, $2::ledger_kind, $3)'

/**
 * Corrects a balance with a new ledger transaction and its reason. A deduction is held in Redis first, so that it
 * cannot take money held by a running call. Throws, without a posting, when the account is unknown, when less is
 * available than the deduction, when the event belongs to another adjustment, and when a service is away.
 */
export async function adjustBalance(
  { accountId, eventId, amountPico, reason }: Adjustment,
  { postgres, holds }: AdjustmentDependencies,
): Promise<AdjustedBalance> {
  const posting = adjustmentPosting(eventId, accountId, amountPico)
  let holdId: string | null = null
  const closeHold = async (ledger: LedgerBalance) => {
    const released = holdId === null ? [] : [{ callId: holdId, chargePico: 0n }]
    await holds.apply(accountId, ledger, released)
  }
  let result: LedgerBalance & { posted: boolean }
  try {
    result = await postgres.$transaction(async (transaction) => {
      const ledger = await lockAccount(transaction, accountId)
      if (await isPosted(transaction, eventId, accountId, amountPico)) return { ...ledger, posted: false }
      if (amountPico < 0n) {
        const hold = await holds.reserveTakeback(accountId, -amountPico, ledger)
        holdId = hold.holdId
        if (hold.amountPico < -amountPico)
          throw new RefusedPosting('too-little-free', tooLittle(hold.amountPico))
      }
      const posted = await postLedger(transaction, posting)
      await transaction.$executeRawUnsafe(NOTE, eventId, posting.kind, reason)
      return posted
    })
  } catch (error) {
    // An older version changes no balance and only releases the hold.
    if (holdId !== null) await closeHold({ balancePico: 0n, version: 0n }).catch(() => undefined)
    throw error
  }
  const isSpendable = await closeHold(result).then(
    () => true,
    () => false,
  )
  return { balancePico: result.balancePico, version: result.version, posted: result.posted, isSpendable }
}

async function isPosted(
  transaction: PostgresTransaction,
  eventId: string,
  accountId: string,
  amountPico: PicoUsd,
): Promise<boolean> {
  const known = await transaction.ledgerEntry.findMany({
    where: { transactionId: eventId, kind: 'adjustment' },
  })
  if (known.length === 0) return false
  const own = known.find((entry) => entry.ledgerAccount === customerAccount(accountId))
  if (own?.amountPico !== amountPico)
    throw new RefusedPosting('reference-taken', `${eventId} is the reference of another adjustment`)
  return true
}

const tooLittle = (freePico: bigint): string =>
  `only ${formatUsd(freePico)} USD is available; running calls may hold the rest`
