import { ApiError } from '../core/kernel/errors.ts'

/** Rejects a new password that equals the email or has fewer than four different characters. */
export function refuseGuessable(password: string, param: string, email: string): void {
  if (password.toLowerCase() === email || new Set(password).size < 4)
    throw new ApiError('invalid_request', 'This password is too easy to guess. Choose another one.', {
      param,
    })
}
