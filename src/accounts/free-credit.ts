import { createHash } from 'node:crypto'
import type { FreeCreditState } from '../core/api/sessions.ts'
import { freeCreditPosting } from '../core/billing/postings.ts'
import { mailboxOf } from '../core/kernel/email-address.ts'
import type { PicoUsd } from '../core/kernel/money.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import { SITE_FACTOR } from '../platform/redis/rate-limiter.ts'
import { readScript } from '../platform/redis/read-script.ts'
import { defineScript, type Redis } from '../platform/redis/redis.ts'
import { freeCreditBudgetKey, freeCreditNetworkKey } from '../platform/redis/redis-keys.ts'
import type { PostLedger } from './account-store.ts'

interface FreeCreditApplicant {
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

/** Of several links used concurrently, only one decides. */
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
    const spellings = [mailbox, mailboxOfDeleted(mailbox)]
    if (await transaction.freeCredit.findFirst({ where: { mailbox: { in: spellings }, state: 'granted' } }))
      return 'mailbox_used'
    const reservation = await budget.reserve(networkAddress, amountPico)
    if (reservation === 'budget_used')
      logger.error(
        { alarm: 'free-credit-budget-used' },
        'free credit of this hour used up, opening accounts without it',
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

/** The stored form of a deleted account's mailbox, which prevents another free credit. */
export const mailboxOfDeleted = (mailbox: string): string =>
  `sha256:${createHash('sha256').update(mailbox).digest('hex')}`

const SCRIPT = readScript(import.meta.url, './reserve-free-credit.lua')
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

interface FreeCreditLimits {
  /** For the whole gateway, per clock hour (UTC). */
  budgetPico: PicoUsd
  /** Credits a day (UTC) for an IPv4 address or an IPv6 /64; `SITE_FACTOR` times as many for an IPv6 /48. */
  freeCreditsPerAddress: number
}

type FreeCreditReservation = 'reserved' | 'network_used' | 'budget_used'

/**
 * Limits the free credit that the gateway gives: an amount per hour in total, and a number per day and network.
 * Counted in Redis for the whole fleet. Reservations are never returned, so that the limit holds even
 * if a posting fails halfway. Rejects if Redis is unavailable.
 */
type FreeCreditBudget = ReturnType<typeof createFreeCreditBudget>

export function createFreeCreditBudget(redis: Redis, limits: FreeCreditLimits, clock: () => number) {
  const reserve = defineScript(redis, 'syReserveFreeCredit', SCRIPT)
  return {
    async reserve(networkAddress: string, amountPico: PicoUsd): Promise<FreeCreditReservation> {
      const seconds = Math.floor(clock() / 1_000)
      const day = Math.floor(seconds / DAY_SECONDS)
      const { subnet, site } = clientNetworks(networkAddress)
      const keys = [
        freeCreditBudgetKey(Math.floor(seconds / HOUR_SECONDS)),
        freeCreditNetworkKey(day, subnet),
        ...(site === null ? [] : [freeCreditNetworkKey(day, site)]),
      ]
      return reserve(keys, [
        String(amountPico),
        String(limits.budgetPico),
        HOUR_SECONDS * 2,
        DAY_SECONDS * 2,
        limits.freeCreditsPerAddress,
        ...(site === null ? [] : [limits.freeCreditsPerAddress * SITE_FACTOR]),
      ]) as Promise<FreeCreditReservation>
    },
  }
}
