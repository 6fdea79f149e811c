/**
 * Runs `poll` again and again, `everyMs` after the last run ended, so never twice at once. Of a row of
 * failures only the first is reported. Returns how to stop.
 */
export function pollEvery(
  everyMs: number,
  poll: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => void {
  let stopped = false
  let failing = false
  let timer: NodeJS.Timeout | undefined
  const next = () => {
    if (!stopped) timer = setTimeout(run, everyMs)
  }
  const run = () => {
    poll()
      .then(
        () => {
          failing = false
        },
        (error: unknown) => {
          if (!failing && !stopped) onFailure(error)
          failing = true
        },
      )
      .finally(next)
  }
  next()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
