import type { UsageFiguresView } from '../../src/core/api/usage.ts'
import { approximateAmount, formatCount, formatDuration } from './format.ts'

/** The change of a figure from the period before, in percent: `+12%`; null where there is nothing to compare with. */
export function changeText(now: number | null, before: number | null): string | null {
  if (now === null || before === null || before === 0) return null
  const percent = Math.round(100 * (now / before - 1))
  if (percent === 0) return 'as before'
  const sign = percent > 0 ? '+' : '−'
  return `${sign}${formatCount(Math.abs(percent))}% to the period before`
}

/** What stands below the figures of a period. `before`: those of the period of equal length before it. */
export function usageNotes(total: UsageFiguresView, before: UsageFiguresView | undefined) {
  const change = (of: (figures: UsageFiguresView) => number | null) =>
    before ? changeText(of(total), of(before)) : null
  const joined = (...texts: Array<string | false | null>) => texts.filter(Boolean).join(' · ') || null
  return {
    Cost: change(({ cost_usd }) => approximateAmount(cost_usd)),
    Requests: joined(
      total.failed_calls > 0 && `${formatCount(total.failed_calls)} failed`,
      change(({ calls }) => calls),
    ),
    'Input tokens': change(({ prompt_tokens }) => prompt_tokens),
    'Output tokens': change(({ completion_tokens }) => completion_tokens),
    'Time to first token': joined(
      total.first_token_ms !== null && 'median',
      total.first_token_p95_ms !== null && `p95 ${formatDuration(total.first_token_p95_ms)}`,
      change(({ first_token_ms }) => first_token_ms),
    ),
  }
}
