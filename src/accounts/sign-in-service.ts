import { ApiError } from '../core/kernel/errors.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { isDuplicate } from '../platform/postgres/postgres.ts'
import { type AccountStore, emailTaken, type Person } from './account-store.ts'
import type { CredentialStore } from './credential-store.ts'
import type { EmailVerification } from './email-verification.ts'
import type { FreeCredits } from './free-credit.ts'
import type { Notify } from './mail/notify.ts'
import { type PasswordCheck, wrongPassword } from './password-check.ts'
import { type PasswordHasher, refuseGuessable } from './password-hash.ts'
import type {
  AuthenticationResponseJSON,
  PasskeyRequestOptions,
  PasskeySite,
  Passkeys,
} from './second-factor/passkeys.ts'
import { type SecondFactor, stepEnded } from './second-factor/second-factor.ts'
import type { SessionClient, SessionStore } from './session-store.ts'
import type { SignInSteps } from './sign-in-steps.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

/** A new session; its token goes into the cookie. */
export interface BegunSession {
  token: string
  accountId: string
}

/** A second factor is required. `passkey`: the options for the browser, if the account has a passkey. */
export interface StepAsked {
  step: string
  hasTotp: boolean
  passkey: PasskeyRequestOptions | null
}

/** The result of a correct first factor. */
export type SignInResult = ({ kind: 'begun' } & BegunSession) | ({ kind: 'second_factor' } & StepAsked)

/** An account after a correct first factor; null: it has no password. */
export interface Entering {
  accountId: string
  passwordHash: string | null
  email: string
}

/** A given second factor; the challenge of a passkey is that of the step. */
export type AskedFactor =
  | { kind: 'totp' | 'recovery_code'; code: string }
  | { kind: 'passkey'; response: AuthenticationResponseJSON }

/**
 * Sign-up and sign-in with email and password. Throws ApiError on refusal, and 429 after too many attempts; rejects if
 * PostgreSQL or Redis is unavailable.
 */
export type SignInService = ReturnType<typeof createSignInService>

export function createSignInService(deps: {
  accounts: Pick<AccountStore, 'create'>
  credentials: CredentialStore
  passwords: PasswordHasher
  passwordCheck: PasswordCheck
  sessions: SessionStore
  steps: SignInSteps
  secondFactor: Pick<SecondFactor, 'factorsOf' | 'take'>
  passkeys: Pick<Passkeys, 'requestOptions' | 'take'>
  throttle: SignInThrottle
  freeCredits: Pick<FreeCredits, 'open'>
  /** Null if mail is not configured: emails are not verified. */
  verification: Pick<EmailVerification, 'send'> | null
  notify: Notify
  logger: Logger
  sessionMs: number
}) {
  const { accounts, credentials, passwords, sessions, throttle, steps, secondFactor } = deps

  /** Null if the password was changed or the account suspended since it was read. */
  const begin = async (
    accountId: string,
    passwordHash: string | null,
    client: SessionClient,
  ): Promise<BegunSession | null> => {
    const begun = await sessions.create({ accountId, passwordHash }, deps.sessionMs, client)
    return begun && { token: begun.token, accountId }
  }

  /**
   * Begins a session, or the step of a second factor if the account has one. Null if the password was changed or the
   * account suspended since it was read.
   */
  const enter = async (
    { accountId, passwordHash, email }: Entering,
    client: SessionClient,
  ): Promise<({ kind: 'begun' } & BegunSession) | { kind: 'second_factor'; step: string } | null> => {
    const { hasTotp, hasPasskeys } = await secondFactor.factorsOf(accountId)
    if (hasTotp || hasPasskeys) {
      const data = { passwordHash, email, challenge: null }
      return { kind: 'second_factor', step: await steps.begin('second_factor', accountId, data) }
    }
    const begun = await begin(accountId, passwordHash, client)
    if (begun === null) return null
    await throttle.signedIn(client.networkAddress, email)
    return { kind: 'begun', ...begun }
  }

  /** The required factors of a step, with a new challenge for a passkey. */
  const askAgain = async (step: string, site: PasskeySite): Promise<StepAsked> => {
    const found = await steps.find('second_factor', step)
    if (!found?.accountId) throw stepEnded()
    const { hasTotp, hasPasskeys } = await secondFactor.factorsOf(found.accountId)
    const passkey = hasPasskeys ? await deps.passkeys.requestOptions(site, found.accountId) : null
    if (passkey) await steps.change('second_factor', step, { ...found.data, challenge: passkey.challenge })
    return { step, hasTotp, passkey }
  }

  /** The account exists, and its holder can request another message. */
  const sendVerification = async (accountId: string, email: string): Promise<void> => {
    try {
      await deps.verification?.send(accountId, email)
    } catch (error) {
      deps.logger.warn({ err: error, accountId }, 'verification message not enqueued')
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
      const requester = { group: clientNetworks(networkAddress).subnet, isKnown: false }
      const passwordHash = await passwords.hash(password, requester)
      if (await credentials.findByEmail(email)) throw emailTaken()
      try {
        const { id } = await accounts.create(email, null, async (transaction, accountId) => {
          await credentials.create(transaction, accountId, passwordHash)
          await deps.freeCredits.open(transaction, { accountId, email, networkAddress })
        })
        await sendVerification(id, email)
        const begun = await begin(id, passwordHash, client)
        if (begun === null) throw new Error(`account ${id} changed while it was opened`)
        await throttle.signedUp(networkAddress, email)
        return begun
      } catch (error) {
        // A concurrent sign-up was first.
        if (isDuplicate(error)) throw emailTaken()
        throw error
      }
    },

    /** A wrong email and a wrong password are indistinguishable, in the error and in its timing. */
    async signIn(
      email: string,
      password: string,
      client: SessionClient,
      site: PasskeySite,
    ): Promise<SignInResult> {
      const { networkAddress } = client
      const { isKnown } = await throttle.signIn(networkAddress, email)
      const found = await credentials.findByEmail(email)
      const requester = { group: clientNetworks(networkAddress).subnet, isKnown }
      const isRight = await passwords.verify(found?.passwordHash ?? null, password, requester)
      if (!found?.passwordHash || !isRight) throw wrongCredentials()
      // Only a client with the password learns of the suspension.
      if (found.isSuspended) throw suspended()
      const entered = await enter({ ...found, email }, client)
      if (entered === null) throw wrongCredentials()
      if (entered.kind === 'begun') return entered
      return { kind: 'second_factor', ...(await askAgain(entered.step, site)) }
    },

    enter,

    /** The required factors of a step. Throws ApiError if it has ended. */
    async asked(step: string, site: PasskeySite, { networkAddress }: SessionClient): Promise<StepAsked> {
      await throttle.verification(networkAddress)
      return askAgain(step, site)
    },

    /** The second step of a sign-in. */
    async giveSecondFactor(
      { step, given, site }: { step: string; given: AskedFactor; site: PasskeySite },
      client: SessionClient,
    ): Promise<BegunSession> {
      const { networkAddress } = client
      await throttle.verification(networkAddress)
      const found = await steps.find('second_factor', step)
      if (!found?.accountId) throw stepEnded()
      const { accountId, data } = found
      const challenge = data.challenge ?? ''
      const factor = given.kind === 'passkey' ? { ...given, challenge, site } : given
      await secondFactor.take(accountId, factor, networkAddress)
      if (!(await steps.end('second_factor', step))) throw stepEnded()
      const begun = await begin(accountId, data.passwordHash, client)
      if (begun === null) throw wrongCredentials()
      await throttle.signedIn(networkAddress, data.email)
      return begun
    },

    /** Begins a sign-in with a passkey alone. */
    async askPasskey(
      site: PasskeySite,
      { networkAddress }: SessionClient,
    ): Promise<{ step: string; options: PasskeyRequestOptions }> {
      await throttle.verification(networkAddress)
      const options = await deps.passkeys.requestOptions(site, null)
      return { step: await steps.begin('passkey', null, { challenge: options.challenge }), options }
    },

    async givePasskey(
      { step, response, site }: { step: string; response: AuthenticationResponseJSON; site: PasskeySite },
      client: SessionClient,
    ): Promise<BegunSession> {
      await throttle.verification(client.networkAddress)
      const found = await steps.find('passkey', step)
      if (!found || !(await steps.end('passkey', step))) throw stepEnded()
      const accountId = await deps.passkeys.take(site, { ...found.data, isAlone: true }, response)
      if (accountId === null)
        throw new ApiError('invalid_credentials', 'No account has this passkey.', {
          challenge: 'Session',
        })
      const credential = await credentials.find(accountId)
      if (credential?.isSuspended) throw suspended()
      const begun = await begin(accountId, credential?.passwordHash ?? null, client)
      if (begun === null) throw wrongCredentials()
      return begun
    },

    /** Ends every session of the account and begins a new one. */
    async changePassword(
      account: Pick<Person, 'id' | 'email'>,
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

const suspended = () => new ApiError('account_suspended', 'This account is suspended. Contact the operator.')

const wrongCredentials = () =>
  new ApiError('invalid_credentials', 'Incorrect email or password.', { challenge: 'Session' })
