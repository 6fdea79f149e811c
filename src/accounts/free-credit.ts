import type { FreeCreditState } from '../core/billing/free-credit-state.ts'
import { freeCreditPosting } from '../core/billing/postings.ts'
import { mailboxOf } from '../core/kernel/email-address.ts'
import type { PicoUsd } from '../core/kernel/money.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { PostLedger } from './account-store.ts'
import type { FreeCreditBudget } from './free-credit-budget.ts'

export interface FreeCreditApplicant {
  accountId: string
  /** Normalized, as stored with the account. */
  email: string
  networkAddress: string
}

/**
 * The free credit of accounts that sign up: once per mailbox, within the budget. It is decided and posted inside
 * the given transactions, which reject if Redis is unavailable.
 */
export type FreeCredits = ReturnType<typeof createFreeCredits>

/** Serializes decisions on accounts of one mailbox. */
const LOCK_MAILBOX = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text'

/** Of several links used at once, only one decides. */
const LOCK_WAITING = `SELECT 1 FROM free_credits WHERE account_id = $1 AND state = 'unverified' FOR UPDATE`

export function createFreeCredits(deps: {
  postgres: Postgres
  postLedger: PostLedger
  budget: FreeCreditBudget
  /** 0: no free credit. */
  amountPico: PicoUsd
  /** Whether emails must be verified first. */
  awaitsVerification: boolean
  logger: Logger
}) {
  const { postgres, postLedger, budget, amountPico, logger } = deps

  const judge = async (
    transaction: PostgresTransaction,
    mailbox: string,
    networkAddress: string,
  ): Promise<FreeCreditState> => {
    await transaction.$queryRawUnsafe(LOCK_MAILBOX, mailbox)
    if (await transaction.freeCredit.findFirst({ where: { mailbox, state: 'granted' } }))
      return 'mailbox_used'
    const reservation = await budget.reserve(networkAddress, amountPico)
    if (reservation === 'budget_used')
      logger.error(
        { alarm: 'free-credit-budget-used' },
        'the free credit of this hour is used up: accounts are opened without',
      )
    return reservation === 'reserved' ? 'granted' : reservation
  }

  return {
    /** For a new account: decides now, or after email verification. */
    async open(
      transaction: PostgresTransaction,
      { accountId, email, networkAddress }: FreeCreditApplicant,
    ): Promise<void> {
      if (amountPico === 0n) return
      const mailbox = mailboxOf(email)
      const state = deps.awaitsVerification ? 'unverified' : await judge(transaction, mailbox, networkAddress)
      await transaction.freeCredit.create({ data: { accountId, mailbox, state } })
      if (state === 'granted') await postLedger(transaction, freeCreditPosting(accountId, amountPico))
    },

    /** Decides for an account whose email was verified; null if nothing was pending. */
    async decideVerified(
      transaction: PostgresTransaction,
      { accountId, email, networkAddress }: FreeCreditApplicant,
    ): Promise<FreeCreditState | null> {
      const [waiting] = await transaction.$queryRawUnsafe<unknown[]>(LOCK_WAITING, accountId)
      if (!waiting) return null
      const state = await judge(transaction, mailboxOf(email), networkAddress)
      await transaction.freeCredit.update({ where: { accountId }, data: { state, decidedAt: new Date() } })
      if (state === 'granted') await postLedger(transaction, freeCreditPosting(accountId, amountPico))
      return state
    },

    /** The decision; null for accounts created by the operator, and if there is no free credit. */
    async find(accountId: string): Promise<FreeCreditState | null> {
      const row = await postgres.freeCredit.findUnique({ where: { accountId }, select: { state: true } })
      return row?.state ?? null
    },
  }
}
