/** A coalesced timer fires at multiples of the longest of these values that divides its interval. */
const SLOTS_MS = [1_000, 500, 250]

/**
 * Returns how long a timer of `ms` waits so that it fires together with other inexact timers: waking an idle process
 * costs more than the work itself. At most `ms`, and at least half of it, to align. The clock counts from the start of
 * the machine, so that the processes of one machine wake together and machines do not.
 */
export function coalesced(ms: number): number {
  const slotMs = SLOTS_MS.find((slot) => slot <= ms && ms % slot === 0)
  if (slotMs === undefined) return ms
  // Whole milliseconds, the resolution of Node's timers.
  const phaseMs = Number(process.hrtime.bigint() / 1_000_000n) % slotMs
  const waitMs = ms - phaseMs
  return waitMs < ms / 2 ? waitMs + ms / 2 : waitMs
}

/**
 * Calls `tick` about every `ms`, aligned with other timers, with the delay in ms. If `ms` is a function, it is
 * evaluated after each tick. Does not keep the process alive. Returns a function that stops the timer.
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
