/** A timer that need not be exact fires at multiples of the longest of these that its time is a multiple of. */
const SLOTS_MS = [1_000, 500, 250]

/**
 * How long a timer of `ms` waits in order to fire together with others that need not be exact: waking an idle process
 * costs more than what it then does. Never longer than `ms`; shorter where that is needed to come into step, by half
 * at the most. The clock counts from the machine's start, so its processes wake together too, and machines do not.
 */
export function coalesced(ms: number): number {
  const slotMs = SLOTS_MS.find((slot) => slot <= ms && ms % slot === 0)
  if (slotMs === undefined) return ms
  // In whole milliseconds, as Node's timers count them.
  const phaseMs = Number(process.hrtime.bigint() / 1_000_000n) % slotMs
  const waitMs = ms - phaseMs
  return waitMs < ms / 2 ? waitMs + ms / 2 : waitMs
}

/**
 * Calls `tick` about every `ms`, together with other timers, and tells it how late it is. `ms` is read anew after each
 * tick when it is a function. Keeps no process running. Returns how to stop.
 */
export function tickEvery(ms: number | (() => number), tick: (lateMs: number) => void): () => void {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const next = () => {
    if (stopped) return
    const waitMs = coalesced(typeof ms === 'number' ? ms : ms())
    const dueAt = performance.now() + waitMs
    timer = setTimeout(() => {
      tick(performance.now() - dueAt)
      next()
    }, waitMs).unref()
  }
  next()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
