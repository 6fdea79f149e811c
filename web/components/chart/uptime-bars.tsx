import type { UptimePeriod } from '../../../src/core/api/provider-status.ts'
import { formatShare } from '../../lib/format.ts'

const HEIGHT = 24
/** The height of a bar without data. */
const STUB = 7
const STEP = 6
const BAR = 4

/** Uptime at a glance, and its figure: full height for all answered, colour by how many failed. `from`: the first bar's start. */
export function UptimeBars(props: { of: UptimePeriod; from: string; stepHours: number }) {
  const { from, stepHours } = props
  const { uptime: whole, bars } = props.of
  const start = (index: number) => new Date(Date.parse(from) + index * stepHours * 3_600_000).toISOString()
  return (
    <span className="stack-tight">
      <span className="tabular-nums">{whole === null ? 'No data' : formatShare(whole)}</span>
      <svg
        className="h-6 w-full max-w-[34rem] min-w-36"
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${bars.filter((bar) => bar !== null && bar < GOOD).length} of ${bars.length} intervals below 99%`}
      >
        {bars.map((uptime, index) => (
          <rect
            key={start(index)}
            className={fillOf(uptime)}
            x={index * STEP}
            y={uptime === null ? HEIGHT - STUB : 0}
            width={BAR}
            height={uptime === null ? STUB : HEIGHT}
            rx={1}
          >
            <title>
              {start(index).slice(0, 16).replace('T', ' ')} UTC:{' '}
              {uptime === null ? 'no data' : formatShare(uptime)}
            </title>
          </rect>
        ))}
      </svg>
    </span>
  )
}

const GOOD = 0.99

function fillOf(uptime: number | null): string {
  if (uptime === null) return 'fill-edge'
  if (uptime >= GOOD) return 'fill-good'
  return uptime >= 0.9 ? 'fill-warn' : 'fill-bad'
}
