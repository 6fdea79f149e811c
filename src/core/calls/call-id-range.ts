import { encodeTime } from 'ulid'
import type { TimeRange } from '../billing/usage-query.ts'

const TIME_CHARACTERS = 10
/** A call is admitted within this of the making of its id, also where a machine's clock was set meanwhile. */
const SLACK_MS = 3_600_000

/** The ids that calls admitted in a span of time can have: `id >= from AND id < to`. They start with their time. */
export function callIdRange({ fromMs, toMs }: TimeRange): { from: string; to: string } {
  const idAt = (unixMs: number) => `chatcmpl_${encodeTime(Math.max(0, unixMs), TIME_CHARACTERS)}`
  return { from: idAt(fromMs - SLACK_MS), to: idAt(toMs + SLACK_MS) }
}
