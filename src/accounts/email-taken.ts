import { ApiError } from '../core/kernel/errors.ts'

export const emailTaken = (): ApiError =>
  new ApiError('email_taken', 'An account with this email already exists. Sign in, or reset its password.', {
    param: 'email',
  })
