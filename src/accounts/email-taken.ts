import { ApiError } from '../core/kernel/errors.ts'

export const emailTaken = (): ApiError =>
  new ApiError('email_taken', 'This email has an account. Sign in, or reset its password.', {
    param: 'email',
  })
