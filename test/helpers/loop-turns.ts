const EVERY_MS = 20

/**
 * Measures the turns of this thread's event loop, in ms of the processor's time, which other work on the machine does
 * not lengthen. Returns a function that gives the longest since it was called last.
 */
export function watchLoopTurns(): () => number {
  let longestMs = 0
  let before = process.threadCpuUsage()
  // A timer that is due fires once a turn, however long that was.
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1_000)
    before = process.threadCpuUsage()
  }, EVERY_MS).unref()
  return () => {
    const ms = longestMs
    longestMs = 0
    return ms
  }
}
