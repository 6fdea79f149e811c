/** One Ctrl-C arrives several times: from the terminal, through npm, and through the launcher. */
const SAME_REQUEST_MS = 1000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Listens for requests to stop: SIGINT, SIGTERM, SIGHUP, and the end of the launcher that started us.
 * A second request, made later, means "at once" and calls `onForce`.
 */
export function listenForStop(onForce: () => void) {
  const controller = new AbortController()
  let firstAt = 0
  const request = (reason: string) => {
    const now = performance.now()
    if (firstAt === 0) {
      firstAt = now
      controller.abort(reason)
    } else if (now - firstAt > SAME_REQUEST_MS) onForce()
  }
  const disconnected = () => {
    // The launcher is gone; a second notice of it would be no new request.
    if (firstAt === 0) request('its launcher is gone')
  }
  for (const name of SIGNALS) process.on(name, request)
  process.on('disconnect', disconnected)
  return {
    /** Aborted at the first request to stop; the reason names it. */
    signal: controller.signal,
    dispose(): void {
      for (const name of SIGNALS) process.off(name, request)
      process.off('disconnect', disconnected)
    },
  }
}
