import type { PicoUsd } from '../core/money.ts'
import { isDuplicate } from '../platform/postgres.ts'
import type { AccountStore } from './account-store.ts'
import type { CredentialStore } from './credential-store.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SessionStore } from './session-store.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

export interface SignInDependencies {
  accounts: Pick<AccountStore, 'create'>
  credentials: CredentialStore
  passwords: PasswordHasher
  sessions: SessionStore
  throttle: SignInThrottle
  freeCreditPico: PicoUsd
  sessionMs: number
}

/** A session just begun: its token goes into the cookie. */
export interface BegunSession {
  kind: 'signed_in'
  token: string
  accountId: string
}

export interface TooMany {
  kind: 'too_many'
  retryAfterSeconds: number
}

/** Accounts that sign in with an email and a password. Rejects when PostgreSQL or Redis is away. */
export interface SignInService {
  /** Opens an account with its free credit. An account of that email is never taken over. */
  signUp(
    email: string,
    password: string,
    networkAddress: string,
  ): Promise<BegunSession | TooMany | { kind: 'email_taken' }>
  /** A wrong email and a wrong password are one and the same, in the answer and in the time it takes. */
  signIn(
    email: string,
    password: string,
    networkAddress: string,
  ): Promise<BegunSession | TooMany | { kind: 'wrong' | 'suspended' }>
  /** Ends every session of the account and begins one anew. */
  changePassword(
    accountId: string,
    current: string,
    next: string,
  ): Promise<BegunSession | TooMany | { kind: 'wrong' }>
}

export function createSignInService(deps: SignInDependencies): SignInService {
  const { accounts, credentials, passwords, sessions, throttle } = deps

  const begin = async (accountId: string): Promise<BegunSession> => {
    const { token } = await sessions.create({ accountId }, deps.sessionMs)
    return { kind: 'signed_in', token, accountId }
  }

  return {
    async signUp(email, password, networkAddress) {
      const throttled = await throttle.signUp(networkAddress)
      if (throttled.kind === 'too_many') return throttled
      const passwordHash = await passwords.hash(password)
      if (await credentials.findByEmail(email)) return { kind: 'email_taken' }
      try {
        const credit = { kind: 'free_credit' as const, amountPico: deps.freeCreditPico }
        const account = await accounts.create(email, credit, passwordHash)
        return begin(account.id)
      } catch (error) {
        // Two at once: the other one was first.
        if (isDuplicate(error)) return { kind: 'email_taken' }
        throw error
      }
    },

    async signIn(email, password, networkAddress) {
      const throttled = await throttle.signIn(networkAddress, email)
      if (throttled.kind === 'too_many') return throttled
      const found = await credentials.findByEmail(email)
      const isRight = await passwords.verify(found?.passwordHash ?? null, password)
      if (!found || !isRight) return { kind: 'wrong' }
      // Only who knows the password learns of the suspension.
      if (found.isSuspended) return { kind: 'suspended' }
      await throttle.signedIn(networkAddress, email)
      return begin(found.accountId)
    },

    async changePassword(accountId, current, next) {
      const throttled = await throttle.changePassword(accountId)
      if (throttled.kind === 'too_many') return throttled
      const found = await credentials.find(accountId)
      if (!(await passwords.verify(found?.passwordHash ?? null, current))) return { kind: 'wrong' }
      await credentials.setPassword(accountId, await passwords.hash(next))
      await sessions.endAll(accountId)
      return begin(accountId)
    },
  }
}
