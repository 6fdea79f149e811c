import type { NoticeKind } from '../../core/accounts/notice.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'

/** Sends a notice about a completed change, so a failure is only logged. */
export type Notify = (accountId: string, notice: NoticeKind) => Promise<void>

/** `enqueue` is null if there is no mail. */
export function createNotify(
  enqueue: ((accountId: string, notice: NoticeKind) => Promise<void>) | null,
  logger: Logger,
): Notify {
  return async (accountId, notice) => {
    try {
      await enqueue?.(accountId, notice)
    } catch (error) {
      logger.warn({ err: error, accountId, notice }, 'notice not enqueued')
    }
  }
}

/** The error for actions that need mail, if none is configured. */
export const noMail = (): ApiError =>
  new ApiError('conflict', 'Mail is not configured on this gateway. Contact its operator.')
