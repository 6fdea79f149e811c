/** One transformation of what callers or providers send, with an input that costs it much. */
export interface Transformation {
  name: string
  /** The largest that ever reaches it. */
  size: number
  /** Makes an input of about so many bytes, characters or entries. Not measured. */
  input: (size: number) => unknown
  run: (input: never) => unknown
}

const ROUNDS = 5
const GROWTH = 4
/** The sizes measured are the largest, and so many times a quarter of the one before. */
const SMALLER_SIZES = 4
/** A quadratic takes 16 times as long for 4 times the input; caches up to double the 4. */
const MOST_TIMES_LONGER = 9
/** Below this a measurement says more of the machine than of the code, in ms. */
const TOO_SHORT_MS = 8

/** What others do to the caches and the collector of garbage spoils a measurement now and then, but not every one. */
const MEASUREMENTS = 3

/**
 * What is wrong with the time that a transformation takes, found every time that it was measured, or null.
 */
export async function slowness(transformation: Transformation, boundMs: number): Promise<string | null> {
  let found: string | null = null
  for (let measured = 0; measured < MEASUREMENTS; measured++) {
    found = await measuredSlowness(transformation, boundMs)
    if (found === null) return null
  }
  return found
}

/**
 * What is wrong with the time that a transformation takes at growing sizes, or null: longer than `boundMs` at its
 * largest, or more than linear. Time of the processor in this thread, so that others who use it do not count; of
 * several rounds the best.
 */
async function measuredSlowness(transformation: Transformation, boundMs: number): Promise<string | null> {
  const { size, input, run } = transformation
  let before: number | null = null
  for (let smaller = SMALLER_SIZES; smaller >= 0; smaller--) {
    const length = Math.ceil(size / GROWTH ** smaller)
    const given = input(length) as never
    const mostMs: number = before === null ? boundMs : Math.max(before, TOO_SHORT_MS) * MOST_TIMES_LONGER
    // At the largest size one round that is quick enough decides; the others are what it is compared with, where
    // anything shorter counts as the shortest that says something of the code.
    const enoughMs = smaller === 0 ? Math.min(boundMs, mostMs) : TOO_SHORT_MS
    const tookMs = await bestOf(() => run(given), boundMs, enoughMs)
    if (tookMs > boundMs) return `${length} take ${tookMs.toFixed(0)} ms`
    if (before !== null && tookMs > mostMs) {
      return `${length} take ${tookMs.toFixed(0)} ms, a quarter of them ${before.toFixed(0)}`
    }
    before = tookMs
  }
  return null
}

/** The processor's time that this thread has used, in ms. */
export function threadTimeMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** The best of some rounds, in ms. What is quick enough, or exceeds the bound many times over, is not measured again. */
async function bestOf(run: () => unknown, boundMs: number, enoughMs: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS && best > enoughMs && !(best > 4 * boundMs && round > 0); round++) {
    const startedAt = threadTimeMs()
    try {
      await run()
    } catch {
      // A refusal is an answer; how long it takes is what counts.
    }
    best = Math.min(best, threadTimeMs() - startedAt)
  }
  return best
}
