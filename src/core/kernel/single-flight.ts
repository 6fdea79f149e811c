/**
 * Runs at most one operation per key at a time; concurrent callers share its result or error. For reads that many
 * calls need at the same moment.
 */
export type SingleFlight = <T>(name: string, work: () => Promise<T>) => Promise<T>

export function createSingleFlight(): SingleFlight {
  const running = new Map<string, Promise<unknown>>()
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = running.get(name)
    if (before) return before as Promise<T>
    const run = work().finally(() => running.delete(name))
    running.set(name, run)
    return run
  }
}
