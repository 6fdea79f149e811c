import { vi } from 'vitest'

/** For what must come about at all; how soon is not what the test is about. */
export const EVENTUALLY = { timeout: 60_000, interval: 20 }

/** Awaits that an assertion holds, with the patience that a busy machine needs; vitest's own is a second. */
export const eventually = <T>(assertion: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(assertion, EVENTUALLY)

/**
 * A bound of the contract, in ms, as it can be told on a machine whose processes wait for each other: far from
 * what the next slower mechanism would take, which is a minute. The bounds themselves are measured by `npm run bench`.
 */
export const onBusyMachine = (boundMs: number): number => boundMs + 45_000
