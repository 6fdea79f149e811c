import { ApiError } from '../core/kernel/errors.ts'
import type { CredentialStore } from './credential-store.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

/** Asks who is signed in for the password again, before a change that somebody at an open browser must not make. */
export type PasswordCheck = ReturnType<typeof createPasswordCheck>

export function createPasswordCheck(deps: {
  credentials: Pick<CredentialStore, 'find'>
  passwords: Pick<PasswordHasher, 'verify'>
  throttle: Pick<SignInThrottle, 'password' | 'rightPassword'>
}) {
  /** The hash of the password. Throws ApiError if it is wrong, about `param`, and 429 after too many attempts. */
  return async (accountId: string, password: string, param = 'current_password'): Promise<string> => {
    await deps.throttle.password(accountId)
    const found = await deps.credentials.find(accountId)
    const passwordHash = found?.passwordHash ?? null
    const isRight = await deps.passwords.verify(passwordHash, password, { group: accountId, isKnown: true })
    if (passwordHash === null)
      throw new ApiError(
        'invalid_request',
        'This account has no password yet. Set one by a password reset.',
        {
          param,
        },
      )
    if (!isRight) throw wrongPassword(param)
    await deps.throttle.rightPassword(accountId)
    return passwordHash
  }
}

export const wrongPassword = (param = 'current_password'): ApiError =>
  new ApiError('invalid_request', 'This is not your current password.', { param })
