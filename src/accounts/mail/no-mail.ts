import { ApiError } from '../../core/kernel/errors.ts'

/** For what needs a message to be sent, where there is no mail. */
export const noMail = (): ApiError =>
  new ApiError('conflict', 'This gateway sends no email. Ask its operator.')
