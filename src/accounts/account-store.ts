import type { RateLimits } from '../core/accounts/api-key.ts'
import { MAIL_PREFERENCES, type MailPreference } from '../core/accounts/mail-preference.ts'
import {
  creditPosting,
  customerAccount,
  freeCreditPosting,
  type Posting,
  RefusedPosting,
} from '../core/billing/postings.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { type PicoUsd, parseUsd, picoUsd } from '../core/kernel/money.ts'
import {
  type IdPage,
  newestFirst,
  type Postgres,
  type PostgresTransaction,
} from '../platform/postgres/postgres.ts'
import type { Account as AccountRow, AccountSuspension } from '../platform/prisma-client/client.ts'

/**
 * `free_credit`: has had only free credit. `active`: was credited. `exhausted`: its balance is below the cost of the
 * cheapest call. `suspended`: by the operator or a dispute; every key is rejected. Ledger postings change between the
 * first three (see docs/money.md); only an operator ends a suspension.
 */
export type AccountState = 'free_credit' | 'active' | 'exhausted' | 'suspended'

export type Account = AccountRow

/** The account of one person, who signs in with its email. All other accounts are organisations with a name. */
export type Person = Account & { email: string }

export const isPerson = (account: Account): account is Person => account.email !== null

export const accountName = ({ email, name }: Pick<Account, 'email' | 'name'>): string => email ?? name ?? ''

/** The credit of a new account. */
export type OpeningCredit = { kind: 'free_credit' | 'credit'; amountPico: PicoUsd }

const NO_CREDIT: OpeningCredit = { kind: 'credit', amountPico: picoUsd(0n) }

export type AccountStore = ReturnType<typeof createAccountStore>

/**
 * Writes a posting and updates the account's balance and state, inside the given transaction. Idempotent: for an
 * existing posting, `posted` is false.
 */
export type PostLedger = (transaction: PostgresTransaction, posting: Posting) => Promise<{ posted: boolean }>

/** The state is computed as if the whole balance had just been posted. */
const RESUME = `
UPDATE accounts SET state = account_state_after('exhausted', balance_pico, balance_pico, CASE
  WHEN EXISTS (
    SELECT 1 FROM ledger_transactions WHERE id = accounts.id AND kind = 'free_credit'
  ) AND NOT EXISTS (
    SELECT 1 FROM ledger_transactions AS t
    JOIN ledger_entries AS e ON e.transaction_id = t.id AND e.kind = t.kind
    WHERE t.account_id = accounts.id AND t.kind <> 'capture' AND t.kind <> 'free_credit'
      AND e.ledger_account = 'customer:' || accounts.id AND e.amount_pico > 0
  ) THEN 'free_credit'::ledger_kind
  ELSE 'credit' END, least_call_pico)
WHERE id = $1 AND state = 'suspended' AND deleted_at IS NULL`

const SET_MAILS = `
UPDATE accounts SET
  muted_mails = ARRAY (SELECT kind FROM unnest(muted_mails) AS kind WHERE kind <> ALL ($2::text[])) || $3::text[],
  weekly_mail = coalesce($4::boolean, weekly_mail)
WHERE id = $1`

/**
 * The account store over PostgreSQL; balances and states change only through `postLedger`.
 * `lowBalancePico` is the threshold of new accounts, one dollar by default.
 */
export function createAccountStore(
  postgres: Postgres,
  postLedger: PostLedger,
  lowBalancePico: PicoUsd = parseUsd('1.00'),
) {
  const read = (client: PostgresTransaction, id: string) =>
    client.account.findUniqueOrThrow({ where: { id } })

  return {
    /**
     * Opens an account with its credit, if any, and runs the given steps in the same transaction.
     * Throws first if the email already has an account.
     */
    async create(
      email: string,
      credit: OpeningCredit | null,
      alongside?: (transaction: PostgresTransaction, accountId: string) => Promise<void>,
    ): Promise<Account> {
      const id = newId('acct')
      const { kind, amountPico } = credit ?? NO_CREDIT
      return postgres.$transaction(async (transaction) => {
        await transaction.account.create({ data: { id, email, state: 'exhausted', lowBalancePico } })
        await alongside?.(transaction, id)
        if (amountPico !== 0n) {
          const posting =
            kind === 'free_credit'
              ? freeCreditPosting(id, amountPico)
              : creditPosting(newId('evt'), id, amountPico)
          await postLedger(transaction, posting)
        }
        return read(transaction, id)
      })
    },

    /** By id or email; null if there is none. */
    async find(idOrEmail: string): Promise<Account | null> {
      return postgres.account.findFirst({ where: { OR: [{ id: idOrEmail }, { email: idOrEmail }] } })
    },

    /**
     * Credits an account, with the reason beside the posting, if any; idempotent by event id. Throws if the account
     * is unknown, or if the event id belongs to another credit.
     */
    async credit(accountId: string, eventId: string, amountPico: PicoUsd, reason?: string): Promise<Account> {
      return postgres.$transaction(async (transaction) => {
        const { posted } = await postLedger(transaction, creditPosting(eventId, accountId, amountPico))
        if (!posted) await assertSameCredit(transaction, accountId, eventId, amountPico)
        else if (reason)
          await transaction.ledgerNote.create({ data: { id: eventId, kind: 'credit', reason } })
        return read(transaction, accountId)
      })
    },

    /** Sets the threshold of the event `balance.low`; null: never. Throws if the account is unknown. */
    async setLowBalance(accountId: string, lowBalancePico: PicoUsd | null): Promise<Account> {
      return postgres.account.update({ where: { id: accountId }, data: { lowBalancePico } })
    },

    /** Turns kinds of messages on or off, and leaves the others. Throws if the account is unknown. */
    async setMails(accountId: string, mails: Partial<Record<MailPreference, boolean>>): Promise<void> {
      const changed = MAIL_PREFERENCES.filter((kind) => mails[kind] !== undefined)
      const muted = changed.filter((kind) => mails[kind] === false)
      await postgres.$executeRawUnsafe(SET_MAILS, accountId, changed, muted, mails.weekly_spend ?? null)
    },

    /** Sets limits over all keys; absent: unchanged, null: the gateway's default. Throws if the account is unknown. */
    async setLimits(accountId: string, limits: Partial<RateLimits>): Promise<Account> {
      return postgres.account.update({ where: { id: accountId }, data: limits })
    },

    /** Sets the spend cap of a month; null: none. Throws if the account is unknown. */
    async setMonthlyLimit(accountId: string, monthlyLimitPico: PicoUsd | null): Promise<Account> {
      return postgres.account.update({ where: { id: accountId }, data: { monthlyLimitPico } })
    },

    /** Suspends: every key of the account is rejected, its sessions end. Throws if the account is unknown. */
    async suspend(accountId: string): Promise<Account> {
      return postgres.$transaction(async (transaction) => {
        const where = { id: accountId }
        const suspended = await transaction.account.update({ where, data: { state: 'suspended' } })
        await transaction.consoleSession.deleteMany({ where: { accountId } })
        await transaction.consoleSession.updateMany({
          where: { actingAccountId: accountId },
          data: { actingAccountId: null },
        })
        return suspended
      })
    },

    /**
     * Ends a suspension; the state follows from the balance and the ledger. The uncharged cost of the account is
     * waived, and its slowdown ends. Throws if the account is unknown.
     */
    async resume(accountId: string): Promise<Account> {
      return postgres.$transaction(async (transaction) => {
        await transaction.$executeRawUnsafe(RESUME, accountId)
        await transaction.account.updateMany({ where: { id: accountId }, data: { slowedAt: null } })
        await transaction.accountProviderCost.updateMany({ where: { accountId }, data: { causedPico: 0n } })
        return read(transaction, accountId)
      })
    },
  }
}

async function assertSameCredit(
  transaction: PostgresTransaction,
  accountId: string,
  eventId: string,
  amountPico: PicoUsd,
): Promise<void> {
  const entry = await transaction.ledgerEntry.findFirst({
    where: { transactionId: eventId, kind: 'credit', ledgerAccount: customerAccount(accountId), amountPico },
  })
  if (!entry) throw new RefusedPosting('reference-taken', `${eventId} is the reference of another credit`)
}

export type ListedSuspension = AccountSuspension

/** An account with what its calls cost in all, and the admission of its latest call. */
export interface AccountSummary extends Account {
  spentPico: PicoUsd
  lastCallAt: Date | null
}

export type AccountDirectory = ReturnType<typeof createAccountDirectory>

/** Accounts for operators, over PostgreSQL. A search by email reads the whole table. */
export function createAccountDirectory(postgres: Postgres) {
  return {
    /** Newest first, after an account's id; filtered by part of the email or name, by id or by that of a key, or all. */
    async page({ search, ...page }: { search: string | null } & IdPage): Promise<AccountSummary[]> {
      const accounts = await postgres.account.findMany(
        newestFirst(page, {
          ...(search !== null && {
            OR: [
              { id: search },
              { keys: { some: { id: search } } },
              ...(['email', 'name'] as const).map((column) => ({
                [column]: { contains: escapeLike(search), mode: 'insensitive' as const },
              })),
            ],
          }),
        }),
      )
      const ids = accounts.map(({ id }) => id)
      const totals = await postgres.spendTotal.findMany({
        where: { accountId: { in: ids }, keyId: '', period: 'total' },
      })
      const totalOf = new Map(totals.map((total) => [total.accountId, total]))
      return accounts.map((account) => {
        const total = totalOf.get(account.id)
        return {
          ...account,
          spentPico: picoUsd(BigInt(total?.spentPico.toFixed(0) ?? 0)),
          lastCallAt: total ? new Date(Number(total.lastCallAtMs)) : null,
        }
      })
    },

    /** By id or email; null if there is none. */
    find: (idOrEmail: string): Promise<Account | null> =>
      postgres.account.findFirst({ where: { OR: [{ id: idOrEmail }, { email: idOrEmail }] } }),

    /** The emails of people and the names of organisations, by account id. */
    async names(ids: readonly string[]): Promise<Map<string, string>> {
      const accounts = await postgres.account.findMany({
        where: { id: { in: [...ids] } },
        select: { id: true, email: true, name: true },
      })
      return new Map(accounts.map((account) => [account.id, accountName(account)]))
    },

    /** Suspensions because of refunds and disputes; newest first. */
    suspensions: (accountId: string, limit: number): Promise<ListedSuspension[]> =>
      postgres.accountSuspension.findMany({
        where: { accountId },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      }),
  }
}

/** Prisma does not escape the wildcards of LIKE. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

export const emailTaken = (): ApiError =>
  new ApiError('email_taken', 'An account with this email already exists. Sign in, or reset its password.', {
    param: 'email',
  })
