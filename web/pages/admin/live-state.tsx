import { useLiveBoard } from '../../api/live-board.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatMoment } from '../../lib/format.ts'

/** Whether the stats are of this second. Read out when that changes, not with every message. */
export function LiveState() {
  const { view, isStale } = useLiveBoard()
  return (
    <p className="live-state" role="status">
      {isStale ? (
        <>
          <Badge tone="warn">Stale</Badge>{' '}
          {view ? `Last stats of ${formatMoment(view.at)}. ` : 'No stats yet. '}
          Reconnecting …
        </>
      ) : view ? (
        <Badge tone="good">Live</Badge>
      ) : (
        <Badge>Connecting …</Badge>
      )}
    </p>
  )
}
