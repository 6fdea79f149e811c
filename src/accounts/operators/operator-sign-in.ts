import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { IdentityProvider } from '../identity/identity-provider.ts'
import type { SessionClient, SessionStore } from '../session-store.ts'
import type { SignInSteps } from '../sign-in-steps.ts'
import type { SignInThrottle } from '../sign-in-throttle.ts'
import type { OperatorStore } from './operator-store.ts'

/** Why a returning operator is not signed in; the sign-in page has a text for each. */
export type OperatorSignInProblem = 'failed' | 'email_not_verified' | 'unknown_operator' | 'operator_disabled'

export type OperatorSignInOutcome =
  | { kind: 'begun'; token: string; expiresAt: Date; next: string | null }
  | { kind: 'problem'; problem: OperatorSignInProblem }

export type OperatorSignIn = ReturnType<typeof createOperatorSignIn>

/**
 * Single sign-on of operators at one OpenID Connect provider. It signs in existing operators that are not disabled: by
 * their verified email the first time, and later by the provider's id. It adds no operators.
 */
export function createOperatorSignIn(deps: {
  provider: IdentityProvider
  /** The issuer, within which a provider's id is unique. */
  issuer: string
  operators: Pick<OperatorStore, 'findByIdentity'>
  sessions: Pick<SessionStore, 'create'>
  steps: Pick<SignInSteps, 'begin' | 'find' | 'end'>
  throttle: Pick<SignInThrottle, 'operator'>
  sessionMs: number
  logger: Logger
}) {
  const { provider, steps, throttle, logger } = deps
  const problem = (reason: OperatorSignInProblem): OperatorSignInOutcome => ({
    kind: 'problem',
    problem: reason,
  })

  return {
    /** Display name: "Sign in with …". */
    name: provider.name,

    /** The URL for the browser, and the token for its cookie. Throws ApiError 503 while the provider is away. */
    async begin(next: string | null, { networkAddress }: SessionClient) {
      await throttle.operator(networkAddress)
      const { url, secrets } = await provider.begin().catch((error: unknown) => {
        logger.error({ err: error }, 'operator single sign-on provider unavailable')
        throw new ApiError('overloaded', `${provider.name} cannot be reached. Try again in a moment.`)
      })
      return { url, token: await steps.begin('operator_sign_in', null, { next, ...secrets }) }
    },

    /** Ends the step when the browser returns. `query` is that of the returned URL. */
    async finish(
      { token, query }: { token: string | null; query: string },
      client: SessionClient,
    ): Promise<OperatorSignInOutcome> {
      await throttle.operator(client.networkAddress)
      const step = token === null ? null : await steps.find('operator_sign_in', token)
      // Of two requests with the same step, only one succeeds.
      if (token === null || step === null || !(await steps.end('operator_sign_in', token)))
        return problem('failed')
      const identity = await provider.finish(query, step.data).catch((error: unknown) => {
        logger.warn({ err: error }, 'operator single sign-on failed')
        return null
      })
      if (identity === null) return problem('failed')
      if (!identity.isEmailVerified) return problem('email_not_verified')
      const { subject, email } = identity
      const found = await deps.operators.findByIdentity({ issuer: deps.issuer, subject, email })
      if (found.kind !== 'active') return problem(found.kind)
      const begun = await deps.sessions.create({ operatorId: found.operator.id }, deps.sessionMs, client)
      if (begun === null) return problem('operator_disabled')
      logger.info({ operator: found.operator.id }, 'operator signed in by single sign-on')
      return {
        kind: 'begun',
        token: begun.token,
        expiresAt: begun.session.expiresAt,
        next: step.data.next,
      }
    },
  }
}
