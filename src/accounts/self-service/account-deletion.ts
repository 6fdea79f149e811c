import type { HoldStore } from '../../billing/holds/hold-store.ts'
import type { AdjustedBalance, Adjustment } from '../../billing/ledger/adjust-balance.ts'
import { RefusedPosting } from '../../core/billing/postings.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { newId } from '../../core/kernel/ids.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import { type Account, isPerson } from '../account-store.ts'
import { mailboxOfDeleted } from '../free-credit.ts'
import type { MemberStore } from '../organisation/member-store.ts'
import type { PasswordCheck } from '../password-check.ts'

/**
 * Deletes an account for its holder, or an organisation for an owner. The data for the ledger and its audit is kept
 * without a name: the account's row, its postings, top-ups, calls (counts and amounts) and revoked keys. All personal
 * data is deleted: what grows with calls by the job of account-erasure.ts, from then on, the rest in one transaction.
 */
const LOCK =
  'SELECT balance_pico AS "balancePico" FROM accounts WHERE id = $1 AND deleted_at IS NULL FOR UPDATE'

const REVOKE_KEYS = `
UPDATE api_keys SET state = 'revoked', revoked_at = coalesce(revoked_at, now()), name = '', prompt_log_days = NULL
WHERE account_id = $1`

/** The keys that the person created in organisations. */
const REVOKE_MADE_KEYS = `
UPDATE api_keys SET state = 'revoked', revoked_at = now()
WHERE created_by = $1 AND account_id <> $1 AND state = 'active'`

export type AccountDeletion = ReturnType<typeof createAccountDeletion>

export function createAccountDeletion(deps: {
  postgres: Postgres
  holds: Pick<HoldStore, 'balance'>
  members: Pick<MemberStore, 'ownedAlone'>
  passwordCheck: PasswordCheck
  adjustBalance: (adjustment: Adjustment) => Promise<AdjustedBalance>
  /** Removes the account at payment providers, with the saved card. */
  forgetCards: (accountId: string) => Promise<void>
  announce: (change: KeyChange) => Promise<void>
  /** Removes the account's responses from the response cache. They expire within a day in any case. */
  clearCachedResponses: (accountId: string) => Promise<unknown>
  logger: Logger
}) {
  const { postgres, holds } = deps

  /** Throws if an organisation would have no owner. */
  const refuseLastOwner = async (accountId: string): Promise<void> => {
    const alone = await deps.members.ownedAlone(accountId)
    if (alone.length > 0)
      throw new ApiError(
        'conflict',
        `You are the only owner of ${alone.join(', ')}. Make another member an owner, or delete the organisation first.`,
      )
  }

  /** Throws while money is moving, in either direction. */
  const refuseUnsettled = async (account: Account): Promise<void> => {
    if (account.owedPico > 0n)
      throw new ApiError('conflict', `This account owes ${formatUsd(account.owedPico)} USD. Top it up first.`)
    const { heldPico } = await holds.balance(account.id)
    if (heldPico > 0n)
      throw new ApiError('conflict', 'Calls of this account are running. Retry when they have ended.')
    const where = {
      accountId: account.id,
      OR: [
        { state: { in: ['pending' as const, 'disputed' as const] } },
        { state: 'created' as const, methodId: { not: null } },
      ],
    }
    if ((await postgres.payment.count({ where })) > 0)
      throw new ApiError('conflict', 'A top-up of this account is not settled yet. Retry later.')
  }

  /** Forfeits the balance, if the holder stated its exact amount. */
  const forfeit = async (account: Account, forfeitUsd: string | null): Promise<void> => {
    const { id: accountId, balancePico } = account
    if (balancePico === 0n) return
    const balanceUsd = formatUsd(balancePico)
    if (forfeitUsd !== balanceUsd)
      throw new ApiError('conflict', `The balance is ${balanceUsd} USD. Confirm that you forfeit it.`, {
        param: 'forfeit_usd',
        metadata: { balance_usd: balanceUsd },
      })
    const reason = 'given up with the account'
    const amountPico = picoUsd(-balancePico)
    await deps.adjustBalance({ accountId, eventId: newId('evt'), amountPico, reason }).catch((error) => {
      if (error instanceof RefusedPosting)
        throw new ApiError('conflict', 'The balance is in use. Retry when the running calls have ended.')
      throw error
    })
  }

  return {
    /**
     * `personId`: the person whose password is given. Throws ApiError for a wrong password, for the only owner of an
     * organisation, and while the account is not settled. It cannot be undone.
     */
    async delete(
      account: Account,
      { personId, password, forfeitUsd }: { personId: string; password: string; forfeitUsd: string | null },
    ): Promise<void> {
      await deps.passwordCheck(personId, password)
      await refuseLastOwner(account.id)
      await refuseUnsettled(account)
      await deps.forgetCards(account.id).catch((cause: unknown) => {
        throw new ApiError('overloaded', 'The payment provider cannot be reached right now. Retry shortly.', {
          retryAfterSeconds: 5,
          cause,
        })
      })
      await forfeit(account, forfeitUsd)
      await postgres.$transaction(async (transaction) => {
        const [row] = await transaction.$queryRawUnsafe<Array<{ balancePico: bigint }>>(LOCK, account.id)
        if (row?.balancePico !== 0n)
          throw new ApiError('conflict', 'The balance has changed. Check it and retry.')
        await removePeople(transaction, account)
        await transaction.$executeRawUnsafe(REVOKE_MADE_KEYS, account.id)
        await transaction.accountErasure.create({ data: { accountId: account.id } })
      })
      deps.logger.info({ accountId: account.id }, 'account deleted by its holder')
      await deps.announce({ accountId: account.id })
      await deps.clearCachedResponses(account.id).catch((error: unknown) => {
        deps.logger.warn(
          { err: error, accountId: account.id },
          'cached responses of a deleted account not removed',
        )
      })
    },
  }
}

async function removePeople(transaction: PostgresTransaction, account: Account): Promise<void> {
  const { id: accountId } = account
  const ofAccount = { where: { accountId } }
  await transaction.$executeRawUnsafe(REVOKE_KEYS, accountId)
  const credit = await transaction.freeCredit.findUnique(ofAccount)
  if (credit) {
    const mailbox = mailboxOfDeleted(credit.mailbox)
    await transaction.freeCredit.update({ ...ofAccount, data: { mailbox } })
  }
  await transaction.consoleSession.deleteMany(ofAccount)
  const ofOrganisation = { where: { actingAccountId: accountId } }
  await transaction.consoleSession.updateMany({ ...ofOrganisation, data: { actingAccountId: null } })
  await transaction.organisationInvitation.deleteMany({
    where: { OR: [{ accountId }, { invitedBy: accountId }, { email: account.email ?? '' }] },
  })
  await transaction.organisationMember.deleteMany({ where: { OR: [{ accountId }, { personId: accountId }] } })
  await transaction.accountCredential.deleteMany(ofAccount)
  await transaction.emailToken.deleteMany(ofAccount)
  await transaction.emailChange.deleteMany(ofAccount)
  await transaction.sentMail.deleteMany({
    where: { OR: [{ accountId }, { recipient: account.email ?? '' }] },
  })
  await transaction.accountTotp.deleteMany(ofAccount)
  await transaction.recoveryCode.deleteMany(ofAccount)
  await transaction.passkey.deleteMany(ofAccount)
  await transaction.identity.deleteMany(ofAccount)
  await transaction.signInStep.deleteMany(ofAccount)
  await transaction.providerKey.deleteMany(ofAccount)
  await transaction.preset.deleteMany(ofAccount)
  // Invoices are kept unchanged, because tax law requires them.
  await transaction.billingDetails.deleteMany(ofAccount)
  await transaction.webhookEndpoint.deleteMany(ofAccount)
  // Includes the events of the changes above, because they contain names of keys.
  await transaction.event.deleteMany(ofAccount)
  await transaction.account.update({
    where: { id: accountId },
    data: {
      ...(isPerson(account) ? { email: `deleted-${accountId}` } : { name: `deleted-${accountId}` }),
      emailVerifiedAt: null,
      state: 'suspended',
      deletedAt: new Date(),
    },
  })
  await transaction.accountAction.deleteMany(ofAccount)
}
