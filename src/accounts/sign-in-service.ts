import { ApiError } from '../core/kernel/errors.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { isDuplicate } from '../platform/postgres/postgres.ts'
import type { AccountStore } from './account-store.ts'
import type { CredentialStore } from './credential-store.ts'
import type { EmailVerification } from './email-verification.ts'
import type { FreeCredits } from './free-credit.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SessionStore } from './session-store.ts'
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
  sessions: SessionStore
  throttle: SignInThrottle
  freeCredits: Pick<FreeCredits, 'open'>
  /** Null if mail is not configured: emails are not verified. */
  verification: Pick<EmailVerification, 'send'> | null
  logger: Logger
  sessionMs: number
}) {
  const { accounts, credentials, passwords, sessions, throttle } = deps

  /** Null if the password was changed, or the account suspended, since it was read. */
  const begin = async (accountId: string, passwordHash: string): Promise<BegunSession | null> => {
    const begun = await sessions.create({ accountId, passwordHash }, deps.sessionMs)
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
    async signUp(email: string, password: string, networkAddress: string): Promise<BegunSession> {
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
        const begun = await begin(id, passwordHash)
        if (begun === null) throw new Error(`account ${id} changed while it was opened`)
        return begun
      } catch (error) {
        // A concurrent sign-up was first.
        if (isDuplicate(error)) throw emailTaken()
        throw error
      }
    },

    /** A wrong email and a wrong password are indistinguishable, in the error and in its timing. */
    async signIn(email: string, password: string, networkAddress: string): Promise<BegunSession> {
      const { isKnown } = await throttle.signIn(networkAddress, email)
      const found = await credentials.findByEmail(email)
      const asker = { group: clientNetworks(networkAddress).subnet, isKnown }
      const isRight = await passwords.verify(found?.passwordHash ?? null, password, asker)
      if (!found?.passwordHash || !isRight) throw wrongCredentials()
      // Only a caller with the password learns of the suspension.
      if (found.isSuspended)
        throw new ApiError('account_suspended', 'This account is suspended. Contact the operator.')
      await throttle.signedIn(networkAddress, email)
      const begun = await begin(found.accountId, found.passwordHash)
      if (begun === null) throw wrongCredentials()
      return begun
    },

    /** Ends every session of the account and begins a new one. */
    async changePassword(accountId: string, current: string, next: string): Promise<BegunSession> {
      await throttle.changePassword(accountId)
      const found = await credentials.find(accountId)
      const asker = { group: accountId, isKnown: true }
      const isRight = await passwords.verify(found?.passwordHash ?? null, current, asker)
      if (!found?.passwordHash || !isRight) throw wrongPassword()
      const passwordHash = await passwords.hash(next, asker)
      const isChanged = await credentials.setPassword(accountId, passwordHash, found.passwordHash)
      const begun = isChanged ? await begin(accountId, passwordHash) : null
      if (begun === null) throw wrongPassword()
      return begun
    },
  }
}

const emailTaken = () =>
  new ApiError('email_taken', 'An account with this email already exists. Sign in instead.', {
    param: 'email',
  })

const wrongCredentials = () =>
  new ApiError('invalid_credentials', 'Incorrect email or password.', { challenge: 'Session' })

const wrongPassword = () =>
  new ApiError('invalid_request', 'The current password is incorrect.', { param: 'current_password' })
