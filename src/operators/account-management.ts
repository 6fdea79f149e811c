import { randomBytes } from 'node:crypto'
import {
  type Account,
  type AccountDirectory,
  type AccountStore,
  isPerson,
  type OpeningCredit,
} from '../accounts/account-store.ts'
import type { CredentialStore } from '../accounts/credential-store.ts'
import type { PasswordHasher } from '../accounts/password-hash.ts'
import { type FactorStores, removeFactors } from '../accounts/second-factor/second-factor.ts'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import type { AdjustedBalance, Adjustment } from '../billing/ledger/adjust-balance.ts'
import type { RateLimits } from '../core/accounts/api-key.ts'
import { RefusedPosting } from '../core/billing/postings.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { formatUsd, type PicoUsd } from '../core/kernel/money.ts'
import { isDuplicate } from '../platform/postgres/postgres.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { AuditedAction, Operator, RunAudited } from './audit-log.ts'

export interface CreditedAccount {
  account: Account
  reference: string
  /** False if Redis does not have the credit yet; maintenance adds it. */
  isSpendable: boolean
}

/** 120 random bits. */
const PASSWORD_BYTES = 15

/** Operators' changes of accounts, each recorded in the audit log. Throws ApiError. */
export type AccountManagement = ReturnType<typeof createAccountManagement>

export function createAccountManagement(options: {
  accounts: AccountStore
  directory: AccountDirectory
  credentials: Pick<CredentialStore, 'setPassword'>
  factors: FactorStores
  passwords: Pick<PasswordHasher, 'hash'>
  holds: Pick<HoldStore, 'apply'>
  adjustBalance: (adjustment: Adjustment) => Promise<AdjustedBalance>
  announce: (change: KeyChange) => Promise<void>
  auditedAction: RunAudited
}) {
  const { accounts, directory, holds, announce, auditedAction } = options

  /** A change that every instance must learn of. */
  const change = (
    operator: Operator,
    action: AuditedAction,
    work: (accountId: string) => Promise<Account>,
  ): Promise<Account> =>
    auditedAction(operator, action, async () => {
      const account = await work(action.target)
      await announce({ accountId: account.id })
      return account
    })

  return {
    async find(idOrEmail: string): Promise<Account> {
      const account = await directory.find(idOrEmail)
      if (!account) throw new ApiError('not_found', 'There is no such account.')
      return account
    },

    /** Finds an account by its id or email, or by a part of its email or name that no other has. */
    async findNamed(text: string): Promise<Account> {
      const account = await directory.find(text)
      if (account) return account
      const [only, another] = await directory.page({ search: text, after: null, limit: 2 })
      if (!only) throw new ApiError('not_found', 'There is no account with this ID, email or name.')
      if (another)
        throw new ApiError(
          'conflict',
          'Several accounts have this in their email or name. Use the whole of it, or the ID.',
        )
      return only
    },

    create(operator: Operator, email: string, credit: OpeningCredit): Promise<Account> {
      const details = { credit_usd: formatUsd(credit.amountPico), credit: credit.kind }
      return auditedAction(operator, { action: 'account.create', target: email, details }, () =>
        accounts.create(email, credit).catch((error: unknown) => {
          if (!isDuplicate(error)) throw error
          throw new ApiError('email_taken', `An account with the email ${email} already exists.`, {
            cause: error,
          })
        }),
      )
    },

    /** Each reference credits once. */
    credit(
      operator: Operator,
      accountId: string,
      amountPico: PicoUsd,
      reference: string = newId('evt'),
      reason?: string,
    ): Promise<CreditedAccount> {
      const details = { amount_usd: formatUsd(amountPico), ...(reason && { reason }), reference }
      return auditedAction(operator, { action: 'account.credit', target: accountId, details }, async () => {
        const account = await posting(accounts.credit(accountId, reference, amountPico, reason))
        // The credit is posted even while Redis is away; repeating it would credit twice.
        const isSpendable = await holds.apply(accountId, account, []).then(
          () => true,
          () => false,
        )
        return { account, reference, isSpendable }
      })
    },

    /** Corrects a balance, up or down, with a new ledger transaction; each reference adjusts once. */
    adjust(
      operator: Operator,
      adjustment: Omit<Adjustment, 'eventId'>,
      reference: string = newId('evt'),
    ): Promise<AdjustedBalance & { reference: string }> {
      const { accountId, amountPico, reason } = adjustment
      const details = { amount_usd: formatUsd(amountPico), reason, reference }
      return auditedAction(operator, { action: 'account.adjust', target: accountId, details }, async () => ({
        ...(await posting(options.adjustBalance({ ...adjustment, eventId: reference }))),
        reference,
      }))
    },

    /** Sets the balance at or below which the account receives `balance.low`; null: never. */
    setLowBalance(operator: Operator, accountId: string, lowBalancePico: PicoUsd | null): Promise<Account> {
      const details = { low_balance_usd: lowBalancePico === null ? null : formatUsd(lowBalancePico) }
      return auditedAction(operator, { action: 'account.alert', target: accountId, details }, () =>
        accounts.setLowBalance(accountId, lowBalancePico),
      )
    },

    /** Limits over all keys of the account; absent fields are unchanged, null is the default. */
    setLimits(operator: Operator, accountId: string, limits: Partial<RateLimits>): Promise<Account> {
      const action = { action: 'account.limits', target: accountId, details: rateLimitDetails(limits) }
      return change(operator, action, (id) => accounts.setLimits(id, limits))
    },

    suspend: (operator: Operator, accountId: string, reason?: string): Promise<Account> =>
      change(operator, withReason('account.suspend', accountId, reason), accounts.suspend),

    resume: (operator: Operator, accountId: string, reason?: string): Promise<Account> =>
      change(operator, withReason('account.resume', accountId, reason), accounts.resume),

    /** Removes the second factor of an account, for a holder who lost it. */
    async resetSecondFactor(operator: Operator, accountId: string): Promise<void> {
      const action = { action: 'account.reset-second-factor', target: accountId, details: {} }
      await auditedAction(operator, action, () => removeFactors(options.factors, accountId))
    },

    /** Sets a new random password, returns it and ends the account's sessions. */
    setPassword(operator: Operator, accountId: string): Promise<string> {
      const action = { action: 'account.set-password', target: accountId, details: {} }
      return auditedAction(operator, action, async () => {
        const account = await directory.find(accountId)
        if (account && !isPerson(account))
          throw new ApiError('conflict', 'An organisation has no password: each member signs in personally.')
        const password = randomBytes(PASSWORD_BYTES).toString('base64url')
        const hash = await options.passwords.hash(password, { group: 'operator', isKnown: true })
        await options.credentials.setPassword(accountId, hash)
        return password
      })
    },
  }
}

const withReason = (action: string, target: string, reason: string | undefined): AuditedAction => ({
  action,
  target,
  details: reason === undefined ? {} : { reason },
})

/** Rate limits in the format of the audit log. */
export const rateLimitDetails = ({ requestsPerMinute, concurrentCalls }: Partial<RateLimits>) => ({
  ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
  ...(concurrentCalls !== undefined && { concurrent_calls: concurrentCalls }),
})

/** Waits for a posting and maps a refusal to an error of the request. */
async function posting<T>(posted: Promise<T>): Promise<T> {
  try {
    return await posted
  } catch (error) {
    if (!(error instanceof RefusedPosting)) throw error
    const code = error.reason === 'reference-taken' ? 'idempotency_conflict' : 'invalid_request'
    throw new ApiError(code, error.message, { shouldRetry: false, cause: error })
  }
}
