import { ApiError } from '../../core/kernel/errors.ts'

/** The error for actions that need mail, if none is configured. */
export const noMail = (): ApiError =>
  new ApiError('conflict', 'Mail is not configured on this gateway. Contact its operator.')
