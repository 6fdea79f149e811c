import { ApiError } from '../core/kernel/errors.ts'

/** Refuses a new password that is the email, or of fewer than four different characters. */
export function refuseGuessable(password: string, param: string, email: string): void {
  if (password.toLowerCase() === email || new Set(password).size < 4)
    throw new ApiError('invalid_request', 'This password is too easy to guess. Choose another one.', {
      param,
    })
}
