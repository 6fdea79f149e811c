/** What the load generator is asked to do, and what it saw. Both travel between processes as plain data. */
import type { LatencySummary } from './latency-summary.ts'

/** One chat completion, the same for every call of a scenario. */
export interface LoadRequest {
  /** Plain HTTP. */
  url: string
  headers: Record<string, string>
  model: string
  stream: boolean
  /** The body to send; absent: a short prompt to `model`. */
  body?: string
}

export interface Scenario {
  request: LoadRequest
  /**
   * `callers`: each sends its next call when the last is answered, at most `callsEach`; they begin one after another over
   * `startOverMs`, absent: at once. `paced`: calls at a fixed rate, come what may.
   */
  load:
    | { kind: 'callers'; callers: number; startOverMs?: number; callsEach?: number }
    | { kind: 'paced'; callsPerSecond: number }
  durationMs: number
  /** Not measured, before the measured time. */
  warmUpMs: number
}

export interface LoadResult {
  /** Those whose answer, whole and with status 200, ended within the measured time. */
  calls: number
  /** With those of the warm-up and those that ended late: what the target has worked for. */
  callsInAll: number
  /** The first few reasons, how many there were, and how many by HTTP status; 0: a broken or incomplete response. */
  failures: { count: number; reasons: string[]; byStatus: Record<string, number> }
  seconds: number
  latency: LatencySummary
  /** From the request to the first content; only of streams. */
  firstToken: LatencySummary
}
