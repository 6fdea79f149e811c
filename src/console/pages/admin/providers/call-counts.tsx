import type { CallCounts } from '../../../../core/operator-offers.ts'
import { plural } from '../../../lib/figures.ts'
import { formatShare } from '../../../lib/operator-figures.ts'

/** How attempts ended: the share that succeeded, and of how many. */
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
