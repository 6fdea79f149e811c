import type { CallSessionDetail } from '../../../src/core/api/call-sessions.ts'
import type { DrawnTimeline } from './call-timeline.ts'

/** The share of the input that a provider's prompt cache served: `75%`. */
export const cachedShare = (of: { prompt_tokens: number; cached_tokens?: number }): string =>
  of.prompt_tokens === 0 ? '–' : `${Math.round((100 * (of.cached_tokens ?? 0)) / of.prompt_tokens)}%`

/** The latest of a session, so that each bar can be seen. */
export const DRAWN_MAX = 30

/** The calls of a session to scale, from the first that is drawn on. */
export function sessionTimeline({ data }: Pick<CallSessionDetail, 'data'>): DrawnTimeline {
  const drawn = data.slice(-DRAWN_MAX)
  const first = Date.parse(drawn[0]?.timings.admitted_at ?? '')
  const spans = drawn.map(({ model, status, error_code: error, timings }) => {
    const startMs = Date.parse(timings.admitted_at) - first
    const firstTokenMs = timings.first_token_ms
    return {
      kind: 'attempt' as const,
      name: model,
      outcome: status === 'completed' ? null : (error ?? status),
      isFailed: status === 'failed',
      startMs,
      endMs: startMs + timings.duration_ms,
      firstTokenMs: firstTokenMs === null ? null : startMs + firstTokenMs,
    }
  })
  return { spans, totalMs: Math.max(1, ...spans.map(({ endMs }) => endMs)) }
}
