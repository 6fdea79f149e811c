/** What the load generator is asked to do, and what it saw. Both travel between processes as plain data. */
import type { LatencySummary } from './latency-summary.ts'

export interface Target {
  port: number
  path: string
  apiKey: string
  model: string
  stream: boolean
}

export interface Scenario {
  target: Target
  /**
   * `callers`: each sends its next call when the last is answered; they begin one after another over `startOverMs`,
   * absent: at once. `paced`: calls at a fixed rate, come what may.
   */
  load: { kind: 'callers'; callers: number; startOverMs?: number } | { kind: 'paced'; callsPerSecond: number }
  durationMs: number
  /** Not measured, before the measured time. */
  warmUpMs: number
}

export interface LoadResult {
  /** Answered whole with status 200 within the measured time. */
  calls: number
  /** The first few reasons, and how many there were. */
  failures: { count: number; reasons: string[] }
  seconds: number
  latency: LatencySummary
  /** From the request to the first content; only of streams. */
  firstToken: LatencySummary
}
