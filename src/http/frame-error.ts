import { ApiError } from '../core/errors.ts'
import type { FrameError } from '../core/frames.ts'

/** The public error a frame carries. */
export const toApiError = ({ code, message, retryAfterSeconds, shouldRetry }: FrameError): ApiError =>
  new ApiError(code, message, { retryAfterSeconds, shouldRetry })
