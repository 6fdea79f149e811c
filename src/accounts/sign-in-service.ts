import { ApiError } from '../core/kernel/errors.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { isDuplicate } from '../platform/postgres/postgres.ts'
import type { Account, AccountStore } from './account-store.ts'
import type { CredentialStore } from './credential-store.ts'
import { emailTaken } from './email-taken.ts'
import type { EmailVerification } from './email-verification.ts'
import type { FreeCredits } from './free-credit.ts'
import type { Notify } from './mail/notify.ts'
import { type PasswordCheck, wrongPassword } from './password-check.ts'
import type { PasswordHasher } from './password-hash.ts'
import { refuseGuessable } from './refuse-guessable.ts'
import type { SessionClient, SessionStore } from './session-store.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

/** A new session; its token goes into the cookie. */
export interface BegunSession {
  token: string
  accountId: string
}

/**
 * Sign-up and sign-in with an email and a password. Throws ApiError where it is refused, and 429 after too many
 * attempts; rejects if PostgreSQL or Redis is unavailable.
 */
export type SignInService = ReturnType<typeof createSignInService>

export function createSignInService(deps: {
  accounts: Pick<AccountStore, 'create'>
  credentials: CredentialStore
  passwords: PasswordHasher
  passwordCheck: PasswordCheck
  sessions: SessionStore
  throttle: SignInThrottle
  freeCredits: Pick<FreeCredits, 'open'>
  /** Null if mail is not configured: emails are not verified. */
  verification: Pick<EmailVerification, 'send'> | null
  notify: Notify
  logger: Logger
  sessionMs: number
}) {
  const { accounts, credentials, passwords, sessions, throttle } = deps

  /** Null if the password was changed, or the account suspended, since it was read. */
  const begin = async (
    accountId: string,
    passwordHash: string,
    client: SessionClient,
  ): Promise<BegunSession | null> => {
    const begun = await sessions.create({ accountId, passwordHash }, deps.sessionMs, client)
    return begun && { token: begun.token, accountId }
  }

  /** The account exists, and its holder can request another message. */
  const sendVerification = async (accountId: string, email: string): Promise<void> => {
    try {
      await deps.verification?.send(accountId, email)
    } catch (error) {
      deps.logger.warn({ err: error, accountId }, 'a verification message could not be queued')
    }
  }

  return {
    /**
     * Opens an account, and decides on its free credit or sends the verification message. Never takes over an
     * existing account.
     */
    async signUp(email: string, password: string, client: SessionClient): Promise<BegunSession> {
      const { networkAddress } = client
      refuseGuessable(password, 'password', email)
      await throttle.signUp(networkAddress)
      const asker = { group: clientNetworks(networkAddress).subnet, isKnown: false }
      const passwordHash = await passwords.hash(password, asker)
      if (await credentials.findByEmail(email)) throw emailTaken()
      try {
        const { id } = await accounts.create(email, null, async (transaction, accountId) => {
          await credentials.create(transaction, accountId, passwordHash)
          await deps.freeCredits.open(transaction, { accountId, email, networkAddress })
        })
        await sendVerification(id, email)
        const begun = await begin(id, passwordHash, client)
        if (begun === null) throw new Error(`account ${id} changed while it was opened`)
        return begun
      } catch (error) {
        // A concurrent sign-up was first.
        if (isDuplicate(error)) throw emailTaken()
        throw error
      }
    },

    /** A wrong email and a wrong password are indistinguishable, in the error and in its timing. */
    async signIn(email: string, password: string, client: SessionClient): Promise<BegunSession> {
      const { networkAddress } = client
      const { isKnown } = await throttle.signIn(networkAddress, email)
      const found = await credentials.findByEmail(email)
      const asker = { group: clientNetworks(networkAddress).subnet, isKnown }
      const isRight = await passwords.verify(found?.passwordHash ?? null, password, asker)
      if (!found?.passwordHash || !isRight) throw wrongCredentials()
      // Only a caller with the password learns of the suspension.
      if (found.isSuspended)
        throw new ApiError('account_suspended', 'This account is suspended. Contact the operator.')
      await throttle.signedIn(networkAddress, email)
      const begun = await begin(found.accountId, found.passwordHash, client)
      if (begun === null) throw wrongCredentials()
      return begun
    },

    /** Ends every session of the account and begins a new one. */
    async changePassword(
      account: Pick<Account, 'id' | 'email'>,
      { current, next }: { current: string; next: string },
      client: SessionClient,
    ): Promise<BegunSession> {
      const { id: accountId } = account
      refuseGuessable(next, 'new_password', account.email)
      const currentHash = await deps.passwordCheck(accountId, current)
      const passwordHash = await passwords.hash(next, { group: accountId, isKnown: true })
      const isChanged = await credentials.changePassword(accountId, passwordHash, currentHash)
      const begun = isChanged ? await begin(accountId, passwordHash, client) : null
      if (begun === null) throw wrongPassword()
      await deps.notify(accountId, 'password_changed')
      return begun
    },
  }
}

const wrongCredentials = () =>
  new ApiError('invalid_credentials', 'Incorrect email or password.', { challenge: 'Session' })
