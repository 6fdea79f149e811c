import type { SettledTimeline } from '../../src/core/api/calls.ts'

/** One bar of a call's timeline. Times in milliseconds since the call was admitted. */
export interface TimelineSpan {
  kind: 'queue' | 'attempt' | 'settlement'
  name: string
  /** How it ended; null where that goes without saying. */
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

/** What a settled call spent its time on, in order: the queue, each attempt, the settlement. */
export function timelineOf(call: SettledTimeline): DrawnTimeline {
  const admittedAt = Date.parse(call.admitted_at)
  const after = (iso: string): number => Math.max(0, Date.parse(iso) - admittedAt)
  const claimedMs = call.queued_ms
  const settledMs = call.duration_ms + call.settlement_lag_ms
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
      return {
        kind: 'attempt',
        name: `Attempt ${index + 1}: ${attempt.offer}`,
        outcome: `${attempt.outcome}${status}${attempt.rescued ? ', rescued the completion' : ''}`,
        isFailed: attempt.outcome !== 'ok',
        startMs,
        endMs: startMs + attempt.duration_ms,
        firstTokenMs: attempt.first_token_ms === null ? null : startMs + attempt.first_token_ms,
      }
    }),
    { ...plain, kind: 'settlement', name: 'Settled', startMs: call.duration_ms, endMs: settledMs },
  ]
  return { spans, totalMs: Math.max(1, ...spans.map(({ endMs }) => endMs)) }
}

const STEPS = [1, 2, 5]
const MARKS_MAX = 5

/** Round marks for an axis from zero: at most five, the last within the span. */
export function timelineMarks(totalMs: number): number[] {
  for (let power = 1; ; power *= 10) {
    for (const step of STEPS) {
      const stepMs = step * power
      const count = Math.floor(totalMs / stepMs) + 1
      if (count <= MARKS_MAX) return Array.from({ length: count }, (_, index) => index * stepMs)
    }
  }
}
