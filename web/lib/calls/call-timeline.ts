import type { CallAttempt, CallDetail, SettledTimeline } from '../../../src/core/api/calls.ts'
import { outcomeText } from '../error-reasons.ts'

/** What a timeline is drawn from. For owners of calls it has neither targets of attempts nor the settlement. */
export type TimedCall = Pick<SettledTimeline, 'status' | 'admitted_at' | 'queued_ms' | 'duration_ms'> & {
  settlement_lag_ms?: number
  attempts: ReadonlyArray<CallAttempt & { offer?: string }>
}

/** A call as its owner sees it. */
export const timedCall = ({ status, timings, attempts }: CallDetail): TimedCall => ({
  status,
  ...timings,
  attempts,
})

/** One bar of a call's timeline. Times in milliseconds since the call was admitted. */
export interface TimelineSpan {
  kind: 'queue' | 'attempt' | 'gap' | 'settlement'
  name: string
  /** How it ended; null for a span without an outcome. */
  outcome: string | null
  isFailed: boolean
  startMs: number
  endMs: number
  /** When the first token came within it; null: none did. */
  firstTokenMs: number | null
}

export interface DrawnTimeline {
  spans: TimelineSpan[]
  /** The whole width. At least 1, so that shares of it exist. */
  totalMs: number
}

/** Shorter gaps between two spans are not shown. */
const GAP_MS = 50

/**
 * What a settled call spent its time on, in order: the queue, each attempt, the settlement, and times in which nothing
 * was under way, with their reason.
 */
export function timelineOf(call: TimedCall): DrawnTimeline {
  const admittedAt = Date.parse(call.admitted_at)
  const after = (iso: string): number => Math.max(0, Date.parse(iso) - admittedAt)
  const claimedMs = call.queued_ms
  const { duration_ms: durationMs, settlement_lag_ms: lagMs } = call
  const plain = { outcome: null, isFailed: false, firstTokenMs: null }
  const spans: TimelineSpan[] = [
    {
      ...plain,
      kind: 'queue',
      name: 'Queued',
      ...(claimedMs === null && { outcome: 'never claimed', isFailed: true }),
      startMs: 0,
      endMs: claimedMs ?? call.duration_ms,
    },
    ...call.attempts.map((attempt, index): TimelineSpan => {
      const startMs = after(attempt.started_at)
      const status = attempt.http_status === null ? '' : `, HTTP ${attempt.http_status}`
      const message = attempt.provider_message === null ? '' : `: “${attempt.provider_message}”`
      return {
        kind: 'attempt',
        name: `Attempt ${index + 1}${attempt.offer === undefined ? '' : `: ${attempt.offer}`}`,
        outcome: `${outcomeText(attempt.outcome)}${status}${message}${attempt.rescued ? ', rescued the completion' : ''}`,
        isFailed: attempt.outcome !== 'ok',
        startMs,
        endMs: startMs + attempt.duration_ms,
        firstTokenMs: attempt.first_token_ms === null ? null : startMs + attempt.first_token_ms,
      }
    }),
    // Without a settlement the end of the call, up to which gaps are filled in.
    { ...plain, kind: 'settlement', name: 'Settled', startMs: durationMs, endMs: durationMs + (lagMs ?? 0) },
  ]
  const drawn = withGaps(call, spans)
  return {
    spans: lagMs === undefined ? drawn.slice(0, -1) : drawn,
    totalMs: Math.max(1, ...spans.map(({ endMs }) => endMs)),
  }
}

/** Fills in the times before attempts, and between the last one and the end of the call, that no span covers. */
function withGaps(call: TimedCall, spans: readonly TimelineSpan[]): TimelineSpan[] {
  let coveredMs = 0
  return spans.flatMap((span) => {
    const gap: TimelineSpan = {
      kind: 'gap',
      name: gapName(call, span),
      outcome: null,
      isFailed: false,
      startMs: coveredMs,
      endMs: span.startMs,
      firstTokenMs: null,
    }
    coveredMs = Math.max(coveredMs, span.endMs)
    return gap.endMs - gap.startMs >= GAP_MS ? [gap, span] : [span]
  })
}

function gapName(call: TimedCall, next: TimelineSpan): string {
  if (next.kind === 'attempt')
    return /^Attempt 1\b/.test(next.name) ? 'Preparing the first attempt' : 'Waiting to retry'
  if (call.status === 'interrupted')
    return 'No attempt recorded: the worker of the call was lost, or stopped, until its claim expired and the call was ended'
  if (call.status === 'cancelled') return 'No attempt recorded until the cancellation took effect'
  return 'No attempt recorded: waiting until the call was ended'
}
