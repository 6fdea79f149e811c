/**
 * Runs one piece of work a name at a time: whoever asks while it runs gets its outcome, good or bad. For reads
 * that a thousand calls want at the same moment.
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
