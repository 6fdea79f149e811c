import { invalid } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { isDuplicate, type Postgres, type PostgresTransaction } from '../platform/postgres/postgres.ts'
import { emailTaken, isPerson, type Person } from './account-store.ts'
import type { CredentialStore } from './credential-store.ts'
import type { EmailTokenStore } from './email-token-store.ts'
import { noSuchLink } from './email-verification.ts'
import type { FreeCredits } from './free-credit.ts'
import type { MakeSpendable } from './make-spendable.ts'
import type { PasswordCheck } from './password-check.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

const TAKEN = 'SELECT 1 FROM accounts WHERE lower(email) = lower($1) AND id <> $2 LIMIT 1'

export type EmailChange = ReturnType<typeof createEmailChange>

/** Changes the email of an account: confirmed at the new address, with a notice to the old one. */
export function createEmailChange(deps: {
  postgres: Postgres
  credentials: Pick<CredentialStore, 'findByEmail'>
  passwordCheck: PasswordCheck
  tokens: Pick<EmailTokenStore, 'use'>
  freeCredits: Pick<FreeCredits, 'decideVerified'>
  throttle: Pick<SignInThrottle, 'verification' | 'verificationMail'>
  makeSpendable: MakeSpendable
  enqueue: (job: { kind: 'change_email' | 'email_changed'; changeId: string }) => Promise<void>
}) {
  const { postgres, tokens } = deps

  const apply = async (transaction: PostgresTransaction, token: string, networkAddress: string) => {
    const used = await tokens.use(transaction, 'change_email', token)
    const change = used && (await findPending(transaction, used.accountId, used.email))
    if (!change) throw noSuchLink()
    const { accountId, newEmail: email } = change
    const [taken] = await transaction.$queryRawUnsafe<unknown[]>(TAKEN, email, accountId)
    if (taken) throw emailTaken()
    const freeCredit = await deps.freeCredits.decideVerified(transaction, {
      accountId,
      email,
      networkAddress,
    })
    const account = await transaction.account.findUniqueOrThrow({ where: { id: accountId } })
    if (!isPerson(account)) throw new Error(`${accountId} has a change of email and no email`)
    await transaction.account.update({
      where: { id: accountId },
      data: { email, emailVerifiedAt: new Date() },
    })
    await transaction.emailChange.update({
      where: { id: change.id },
      data: { oldEmail: account.email, confirmedAt: new Date() },
    })
    // Links that were sent to the old address.
    await transaction.emailToken.deleteMany({ where: { accountId } })
    return { accountId, changeId: change.id, freeCredit }
  }

  return {
    /** Sends a link to the new address. Throws ApiError for a wrong password, an email that has an account, and 429. */
    async request(account: Person, email: string, password: string): Promise<void> {
      if (email === account.email) throw invalid('email', 'Your account already has this email.')
      await deps.passwordCheck(account.id, password)
      if (await deps.credentials.findByEmail(email)) throw emailTaken()
      await deps.throttle.verificationMail(email)
      const id = newId('echg')
      await postgres.$transaction(async (transaction) => {
        await transaction.emailChange.deleteMany({ where: { accountId: account.id, confirmedAt: null } })
        await transaction.emailChange.create({
          data: { id, accountId: account.id, oldEmail: account.email, newEmail: email },
        })
      })
      await deps.enqueue({ kind: 'change_email', changeId: id })
    },

    /** Uses a link. Throws ApiError for an invalid link, and if another account has the email by now. */
    async confirm(token: string, networkAddress: string): Promise<void> {
      await deps.throttle.verification(networkAddress)
      const applied = await postgres
        .$transaction((transaction) => apply(transaction, token, networkAddress))
        .catch((error: unknown) => {
          if (isDuplicate(error)) throw emailTaken()
          throw error
        })
      if (applied.freeCredit === 'granted') await deps.makeSpendable(applied.accountId)
      await deps.enqueue({ kind: 'email_changed', changeId: applied.changeId })
    },
  }
}

const findPending = (transaction: PostgresTransaction, accountId: string, newEmail: string) =>
  transaction.emailChange.findFirst({ where: { accountId, newEmail, confirmedAt: null } })
