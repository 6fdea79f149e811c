/**
 * Runs `poll` again and again, `everyMs` after the last run ended, so never twice at once. Of a row of
 * failures the first is reported, and each that says something else than the one before. Returns how to stop.
 */
export function pollEvery(
  everyMs: number,
  poll: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => void {
  let stopped = false
  let failure: string | null = null
  let timer: NodeJS.Timeout | undefined
  const next = () => {
    if (!stopped) timer = setTimeout(run, everyMs)
  }
  const run = () => {
    poll()
      .then(
        () => {
          failure = null
        },
        (error: unknown) => {
          const said = error instanceof Error ? error.message : String(error)
          if (said !== failure && !stopped) onFailure(error)
          failure = said
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
