import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import type { StoredResponseStore } from './stored-response-store.ts'

/** How often the instance confirms its calls, and finds those that were cancelled. */
const RENEWED_EVERY_MS = 2_000

export type BackgroundCalls = ReturnType<typeof createBackgroundCalls>

/**
 * The calls of this instance whose responses are read later. One statement confirms all of them at an interval, so that
 * a response whose instance has ended reads as failed. A call whose response was cancelled or deleted is ended.
 */
export function createBackgroundCalls({
  store,
  logger,
  renewedEveryMs = RENEWED_EVERY_MS,
}: {
  store: Pick<StoredResponseStore, 'renew'>
  logger: Logger
  renewedEveryMs?: number
}) {
  const running = new Map<string, AbortController>()
  let isRenewing = false
  let idle = Promise.withResolvers<void>()

  const renew = async (): Promise<void> => {
    const ids = [...running.keys()]
    try {
      const continued = await store.renew(ids)
      for (const id of ids) if (!continued.has(id)) running.get(id)?.abort()
    } catch (error) {
      logger.warn({ cause: causeOf(error), calls: ids.length }, 'background calls not confirmed, retrying')
    }
    isRenewing = false
    renewLater()
  }
  const renewLater = () => {
    if (isRenewing || running.size === 0) return
    isRenewing = true
    setTimeout(renew, renewedEveryMs)
  }

  return {
    /** Confirms a call from now on. The signal aborts when it is to end. */
    add(callId: string): AbortSignal {
      const controller = new AbortController()
      running.set(callId, controller)
      renewLater()
      return controller.signal
    },

    /** The call has ended, and its response is stored. Idempotent. */
    remove(callId: string): void {
      running.delete(callId)
      if (running.size === 0) idle.resolve()
    },

    /** Resolves once no call runs. */
    async idle(): Promise<void> {
      if (running.size === 0) return
      idle = Promise.withResolvers()
      await idle.promise
    },
  }
}
