import type { FrameError } from '../core/calls/frames.ts'
import { ApiError } from '../core/kernel/errors.ts'

/** The public error a frame carries. */
export const toApiError = ({ code, message, retryAfterSeconds, shouldRetry }: FrameError): ApiError =>
  new ApiError(code, message, { retryAfterSeconds, shouldRetry })
