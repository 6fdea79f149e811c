import { clientNetworks } from '../platform/network/client-networks.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { CredentialStore } from './credential-store.ts'
import type { EmailTokenStore } from './email-token-store.ts'
import { noSuchLink } from './email-verification.ts'
import { type Notify, noMail } from './mail/notify.ts'
import { type PasswordHasher, refuseGuessable } from './password-hash.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

export type PasswordReset = ReturnType<typeof createPasswordReset>

/** Sets a new password with a link that is sent to the account's address. */
export function createPasswordReset(deps: {
  postgres: Postgres
  credentials: Pick<CredentialStore, 'findByEmail' | 'replacePassword'>
  passwords: Pick<PasswordHasher, 'hash'>
  tokens: Pick<EmailTokenStore, 'find' | 'use'>
  throttle: Pick<SignInThrottle, 'verification' | 'passwordReset'>
  /** Enqueues the message; with null, a job without a recipient. Null if there is no mail. */
  enqueue: ((accountId: string | null) => Promise<void>) | null
  /** Announces a change of the account to every process. */
  announce: (change: KeyChange) => Promise<void>
  notify: Notify
}) {
  const { credentials, tokens } = deps
  return {
    /**
     * Enqueues a message with a link, if the email has an account that is not suspended. A client cannot see the
     * difference: the same steps run in both cases, and the link is created only when the message is sent. Throws
     * ApiError 429 after too many requests, and `conflict` if there is no mail.
     */
    async request(email: string, networkAddress: string): Promise<void> {
      if (!deps.enqueue) throw noMail()
      await deps.throttle.passwordReset(networkAddress, email)
      const found = await credentials.findByEmail(email)
      await deps.enqueue(found && !found.isSuspended ? found.accountId : null)
    },

    /**
     * Sets the password of a link's account, and ends all its sessions. If the address was never verified, another
     * person may have opened the account, so all other ways to sign in are removed, as are the provider keys and
     * webhooks that would receive its prompts and events. Otherwise resolves to the remaining ways to sign in. Throws
     * ApiError for a used or expired link.
     */
    async reset(token: string, password: string, networkAddress: string): Promise<WaysIn> {
      await deps.throttle.verification(networkAddress)
      const found = await tokens.find('reset_password', token)
      if (!found) throw noSuchLink()
      refuseGuessable(password, 'password', found.email)
      const requester = { group: clientNetworks(networkAddress).subnet, isKnown: true }
      const passwordHash = await deps.passwords.hash(password, requester)
      const remaining = await deps.postgres.$transaction(async (transaction) => {
        const used = await tokens.use(transaction, 'reset_password', token)
        if (!used) throw noSuchLink()
        // A link for a former address of the account is invalid.
        const [account] = await transaction.account.updateManyAndReturn({
          where: { id: used.accountId, email: used.email, state: { not: 'suspended' } },
          data: { email: used.email },
          select: { emailVerifiedAt: true },
        })
        if (!account) throw noSuchLink()
        // Without a password, only operators have set the account up.
        const wasHeld =
          (await transaction.accountCredential.count({ where: { accountId: used.accountId } })) > 0
        await credentials.replacePassword(transaction, used.accountId, passwordHash)
        if (account.emailVerifiedAt === null) {
          await removeWaysIn(transaction, used.accountId)
          if (wasHeld) await removeWaysOut(transaction, used.accountId)
        }
        return waysIn(transaction, used.accountId)
      })
      await deps.announce({ accountId: found.accountId })
      await deps.notify(found.accountId, 'password_reset')
      return remaining
    },
  }
}

/** The ways to use an account without its password. */
export interface WaysIn {
  /** Ids of the linked identity providers. */
  identities: string[]
  passkeys: number
  /** Number of unrevoked API keys. */
  apiKeys: number
}

/** Reads the ways to use an account. */
async function waysIn(transaction: PostgresTransaction, accountId: string): Promise<WaysIn> {
  const identities = await transaction.identity.findMany({
    where: { accountId },
    orderBy: { provider: 'asc' },
  })
  return {
    identities: identities.map(({ provider }) => provider),
    passkeys: await transaction.passkey.count({ where: { accountId } }),
    apiKeys: await transaction.apiKey.count({ where: { accountId, state: 'active' } }),
  }
}

/**
 * Removes all of them and the second factor; of the keys only those that the holder created, not an operator's. The
 * caller announces the account, so that its keys end everywhere.
 */
async function removeWaysIn(transaction: PostgresTransaction, accountId: string): Promise<void> {
  const where = { accountId }
  await transaction.identity.deleteMany({ where })
  await transaction.passkey.deleteMany({ where })
  await transaction.accountTotp.deleteMany({ where })
  await transaction.recoveryCode.deleteMany({ where })
  await transaction.apiKey.updateMany({
    where: { accountId, createdBy: accountId, state: 'active' },
    data: { state: 'revoked', revokedAt: new Date() },
  })
}

/** Removes what sends prompts and events of the account elsewhere: its BYOK keys and webhooks. */
async function removeWaysOut(transaction: PostgresTransaction, accountId: string): Promise<void> {
  const where = { accountId }
  await transaction.providerKey.deleteMany({ where })
  await transaction.webhookEndpoint.deleteMany({ where })
}
