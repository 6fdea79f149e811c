import type { CallCounts } from '../../../../src/core/api/offers.ts'
import { formatCount, plural } from '../../../lib/format.ts'
import { formatShare } from '../../../lib/live-stats.ts'

/** The share of attempts that succeeded, and their number. */
export function SuccessShare({ counts }: { counts: CallCounts }) {
  const { success, failure, rate_limited: limited, success_share: share } = counts
  if (share === null && limited === 0) return <span className="muted">no calls</span>
  return (
    <span className="stack-tight">
      <span>{share === null ? '–' : formatShare(share)}</span>
      <span className="small muted nowrap">
        {plural(success + failure, 'call')}
        {limited > 0 && `, ${limited} limited`}
      </span>
    </span>
  )
}

/** The same for the last minute and the last ten, in one cell. */
export function RecentSuccess({ minute, tenMinutes }: { minute: CallCounts; tenMinutes: CallCounts }) {
  const spans = [minute, tenMinutes]
  const attempts = spans.map(({ success, failure, rate_limited: limited }) => success + failure + limited)
  if (attempts.every((count) => count === 0)) return <span className="muted">no calls</span>
  const shares = spans.map(({ success_share: share }) => (share === null ? '–' : formatShare(share)))
  return (
    <span className="stack-tight nowrap">
      {shares.join(' / ')}
      <span className="small muted">{attempts.map(formatCount).join(' / ')} calls</span>
      {tenMinutes.rate_limited > 0 && (
        <span className="small muted">{formatCount(tenMinutes.rate_limited)} rate-limited</span>
      )}
    </span>
  )
}
