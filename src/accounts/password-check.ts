import { type ApiError, invalid } from '../core/kernel/errors.ts'
import type { CredentialStore } from './credential-store.ts'
import type { PasswordHasher } from './password-hash.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

/** Requires the password of the signed-in person again, before a change that must not be possible at an unattended browser. */
export type PasswordCheck = ReturnType<typeof createPasswordCheck>

export function createPasswordCheck(deps: {
  credentials: Pick<CredentialStore, 'find'>
  passwords: Pick<PasswordHasher, 'verify'>
  throttle: Pick<SignInThrottle, 'password' | 'rightPassword'>
}) {
  /** Returns the hash of the password. Throws ApiError about `param` if it is wrong, and 429 after too many attempts. */
  return async (accountId: string, password: string, param = 'current_password'): Promise<string> => {
    await deps.throttle.password(accountId)
    const found = await deps.credentials.find(accountId)
    const passwordHash = found?.passwordHash ?? null
    const isRight = await deps.passwords.verify(passwordHash, password, { group: accountId, isKnown: true })
    if (passwordHash === null)
      throw invalid(param, 'This account has no password. Set one with a password reset.')
    if (!isRight) throw wrongPassword(param)
    await deps.throttle.rightPassword(accountId)
    return passwordHash
  }
}

export const wrongPassword = (param = 'current_password'): ApiError =>
  invalid(param, 'This is not your current password.')
