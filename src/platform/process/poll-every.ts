import { coalesced } from './coalesced-timers.ts'

export interface PollOptions {
  /** Until the first run. Absent: `everyMs`. */
  firstAfterMs?: number
  /** Called when a run succeeds after failed ones. */
  onRecovery?: () => void
}

/**
 * Runs `poll` repeatedly, about `everyMs` after the last run ended and together with other timers, so never twice at
 * once. Of a row of failures the first is reported, and each whose message differs from the one before. Returns how to
 * stop; that resolves when a run that is under way has ended, and never rejects.
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
