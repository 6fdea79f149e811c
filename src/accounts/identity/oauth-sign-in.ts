import { isPlainEmail } from '../../core/kernel/email-address.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { isDuplicate } from '../../platform/postgres/postgres.ts'
import type { AccountStore } from '../account-store.ts'
import type { CredentialStore } from '../credential-store.ts'
import type { FreeCredits } from '../free-credit.ts'
import type { Notify } from '../mail/notify.ts'
import type { MakeSpendable } from '../make-spendable.ts'
import type { PasswordCheck } from '../password-check.ts'
import type { SessionClient } from '../session-store.ts'
import type { BegunSession, SignInService } from '../sign-in-service.ts'
import type { SignInSteps } from '../sign-in-steps.ts'
import type { SignInThrottle } from '../sign-in-throttle.ts'
import type { IdentityProvider, StatedIdentity } from './identity-provider.ts'
import type { IdentityStore } from './identity-store.ts'
import type { ApplySignInRules } from './sign-in-rules.ts'

/** Why a returning person is not signed in; the sign-in page has a text for each. */
export type OauthProblem =
  | 'failed'
  | 'email_not_verified'
  | 'email_taken'
  | 'identity_taken'
  | 'suspended'
  | 'sign_up_closed'

export type OauthOutcome =
  | ({ kind: 'begun'; next: string | null } & BegunSession)
  | { kind: 'second_factor'; step: string; next: string | null }
  | { kind: 'linked' }
  | { kind: 'problem'; problem: OauthProblem; isLinking: boolean }

export type OauthSignIn = ReturnType<typeof createOauthSignIn>

/**
 * Sign-in with an identity provider. It opens an account, or signs in to the linked one. It links automatically only if
 * the provider and this gateway both verified the same address: an account that was opened with a stranger's address
 * must not be shared with the stranger.
 */
export function createOauthSignIn(deps: {
  providers: readonly IdentityProvider[]
  identities: IdentityStore
  accounts: Pick<AccountStore, 'create' | 'find'>
  credentials: Pick<CredentialStore, 'find' | 'findByEmail'>
  freeCredits: Pick<FreeCredits, 'open' | 'decideVerified'>
  makeSpendable: MakeSpendable
  steps: SignInSteps
  signIn: Pick<SignInService, 'enter'>
  throttle: Pick<SignInThrottle, 'verification' | 'signUp'>
  passwordCheck: PasswordCheck
  notify: Notify
  applySignInRules: ApplySignInRules
  signUpClosed: boolean
  logger: Logger
}) {
  const { providers, identities, accounts, credentials, steps, throttle } = deps

  const providerOf = (id: string): IdentityProvider => {
    const found = providers.find((provider) => provider.id === id)
    if (!found) throw new ApiError('not_found', 'Sign-in with this service is not available.')
    return found
  }

  const begin = async (id: string, accountId: string | null, next: string | null) => {
    const provider = providerOf(id)
    const { url, secrets } = await provider.begin().catch((error: unknown) => {
      deps.logger.error({ err: error, provider: id }, 'sign-in provider unavailable')
      throw new ApiError('overloaded', `${provider.name} cannot be reached. Try again in a moment.`)
    })
    return { url, token: await steps.begin('oauth', accountId, { provider: id, next, ...secrets }) }
  }

  /** Opens an account for a verified address; null if the address has one by now. */
  const open = async (identity: StatedIdentity, { networkAddress }: SessionClient) => {
    await throttle.signUp(networkAddress)
    const { email } = identity
    const applicant = (accountId: string) => ({ accountId, email, networkAddress })
    try {
      const { id } = await accounts.create(email, null, async (transaction, accountId) => {
        await identities.create(transaction, accountId, identity)
        await deps.freeCredits.open(transaction, applicant(accountId))
        await deps.freeCredits.decideVerified(transaction, applicant(accountId))
        const data = { emailVerifiedAt: new Date() }
        await transaction.account.update({ where: { id: accountId }, data })
      })
      await deps.makeSpendable(id)
      return id
    } catch (error) {
      if (isDuplicate(error)) return null
      throw error
    }
  }

  /** The account to sign in to, or the reason against it. */
  const resolve = async (
    identity: StatedIdentity,
    client: SessionClient,
  ): Promise<{ accountId: string } | { problem: OauthProblem }> => {
    const linked = await identities.accountOf(identity)
    if (linked !== null) return { accountId: linked }
    if (!identity.isEmailVerified || !isPlainEmail(identity.email)) return { problem: 'email_not_verified' }
    const known = await credentials.findByEmail(identity.email)
    if (known) {
      const account = await accounts.find(known.accountId)
      if (!account?.emailVerifiedAt || account.email !== identity.email) return { problem: 'email_taken' }
      if (!(await identities.link(account.id, identity))) return { problem: 'email_taken' }
      await deps.notify(account.id, 'identity_linked')
      return { accountId: account.id }
    }
    if (deps.signUpClosed) return { problem: 'sign_up_closed' }
    const opened = await open(identity, client)
    return opened === null ? { problem: 'email_taken' } : { accountId: opened }
  }

  return {
    /** Begins a sign-in: the URL for the browser, and the token for its cookie. */
    async begin(id: string, next: string | null, { networkAddress }: SessionClient) {
      await throttle.verification(networkAddress)
      return begin(id, null, next)
    },

    /** Begins to link an identity to the signed-in account. Throws ApiError for a wrong password. */
    async beginLink(id: string, accountId: string, password: string) {
      await deps.passwordCheck(accountId, password)
      return begin(id, accountId, null)
    },

    /** Ends the step when the browser returns. `query` is that of the returned URL. */
    async finish(
      id: string,
      { token, query }: { token: string | null; query: string },
      client: SessionClient,
    ): Promise<OauthOutcome> {
      await throttle.verification(client.networkAddress)
      const step = token === null ? null : await steps.find('oauth', token)
      const isLinking = step?.accountId != null
      const problem = (reason: OauthProblem): OauthOutcome => ({
        kind: 'problem',
        problem: reason,
        isLinking,
      })
      if (token === null || step?.data.provider !== id) return problem('failed')
      // A linking step ends together with the link, so that a new password in between prevents both.
      if (step.accountId === null && !(await steps.end('oauth', token))) return problem('failed')
      const identity = await providerOf(id)
        .finish(query, step.data)
        .catch((error: unknown) => {
          deps.logger.warn({ err: error, provider: id }, 'sign-in with a provider failed')
          return null
        })
      if (identity === null) return problem('failed')
      if (step.accountId !== null) {
        const { accountId } = step
        const linking = await steps.endWith('oauth', token, (transaction) =>
          identities.link(accountId, identity, transaction),
        )
        if (linking === null) return problem('failed')
        if (!linking) return problem('identity_taken')
        await deps.notify(step.accountId, 'identity_linked')
        return { kind: 'linked' }
      }
      const resolved = await resolve(identity, client)
      if ('problem' in resolved) return problem(resolved.problem)
      const credential = await credentials.find(resolved.accountId)
      if (!credential || credential.isSuspended) return problem('suspended')
      await deps.applySignInRules(resolved.accountId, identity)
      const entered = await deps.signIn.enter({ ...credential, email: identity.email }, client)
      return entered === null ? problem('failed') : { ...entered, next: step.data.next }
    },

    list: identities.list,

    async unlink(accountId: string, provider: string, password: string): Promise<void> {
      // The account can still be used with its password.
      await deps.passwordCheck(accountId, password)
      if (!(await identities.unlink(accountId, provider)))
        throw new ApiError('not_found', 'This account is not linked to that service.')
      await deps.notify(accountId, 'identity_unlinked')
    },
  }
}
