import { coalesced } from './coalesced-timers.ts'

export interface PollOptions {
  /** Delay of the first run. Absent: `everyMs`. */
  firstAfterMs?: number
  /** Called when a run succeeds after a failure. */
  onRecovery?: () => void
}

/**
 * Runs `poll` repeatedly, about `everyMs` after the end of the last run and aligned with other timers, so runs never
 * overlap. Of consecutive failures it reports the first, and each with a message other than the one before. Returns a
 * stop function, which resolves when the current run has ended and never rejects.
 */
export function pollEvery(
  everyMs: number,
  poll: () => Promise<void>,
  onFailure: (error: unknown) => void,
  { firstAfterMs = everyMs, onRecovery }: PollOptions = {},
): () => Promise<void> {
  let stopped = false
  let failure: string | null = null
  let running: Promise<void> | undefined
  const run = async () => {
    try {
      await poll()
      if (failure !== null) onRecovery?.()
      failure = null
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (message !== failure && !stopped) onFailure(error)
      failure = message
    }
    if (!stopped) next(everyMs)
  }
  let timer: NodeJS.Timeout
  const next = (ms: number) => {
    timer = setTimeout(() => {
      running = run()
    }, coalesced(ms))
  }
  next(firstAfterMs)
  return async () => {
    stopped = true
    clearTimeout(timer)
    await running
  }
}
