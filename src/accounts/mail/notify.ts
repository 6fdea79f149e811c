import type { NoticeKind } from '../../core/accounts/notice.ts'
import type { Logger } from '../../platform/observability/logger.ts'

/** Sends a notice. What it is about has happened: a failure is logged. */
export type Notify = (accountId: string, notice: NoticeKind) => Promise<void>

/** `enqueue` is null where there is no mail. */
export function createNotify(
  enqueue: ((accountId: string, notice: NoticeKind) => Promise<void>) | null,
  logger: Logger,
): Notify {
  return async (accountId, notice) => {
    try {
      await enqueue?.(accountId, notice)
    } catch (error) {
      logger.warn({ err: error, accountId, notice }, 'a notice could not be queued')
    }
  }
}
