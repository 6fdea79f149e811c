import { AxisBottom, AxisLeft } from '@visx/axis'
import { useParentSize } from '@visx/responsive'
import { scaleBand, scaleLinear } from '@visx/scale'
import { useState } from 'react'
import { approximateAmount, axisAmount, formatAmount } from '../lib/amounts.ts'
import { formatDay, formatShortDay } from '../lib/dates.ts'
import { plural } from '../lib/figures.ts'

export interface DayOfSpend {
  /** `2027-01-31`, UTC. */
  day: string
  cost_usd: string
  calls: number
}

const HEIGHT = 220
const MARGIN = { top: 10, right: 18, bottom: 26, left: 58 }
const LABEL_WIDTH = 64
const BAR_RADIUS = 3
const LABEL = { className: 'chart-label' }

/** Spend by day. The bars are a drawing; the exact figures are in the table beside it, and under the pointer. */
export function BarChart({ days }: { days: readonly DayOfSpend[] }) {
  const { parentRef, width } = useParentSize({ debounceTime: 50 })
  const [active, setActive] = useState<DayOfSpend | null>(null)
  return (
    <div className="stack-small">
      <p className="chart-note" aria-hidden="true">
        {active
          ? `${formatDay(active.day)}: ${formatAmount(active.cost_usd)}, ${plural(active.calls, 'call')}`
          : 'Point at a day for its figures.'}
      </p>
      <div className="chart" ref={parentRef}>
        {width > 0 && <Bars days={days} width={width} active={active} onActive={setActive} />}
      </div>
    </div>
  )
}

function Bars(props: {
  days: readonly DayOfSpend[]
  width: number
  active: DayOfSpend | null
  onActive: (day: DayOfSpend | null) => void
}) {
  const { days, width, active, onActive } = props
  const bottom = HEIGHT - MARGIN.bottom
  const x = scaleBand({
    domain: days.map(({ day }) => day),
    range: [MARGIN.left, width - MARGIN.right],
    padding: 0.25,
  })
  const largest = Math.max(...days.map((day) => approximateAmount(day.cost_usd)))
  const y = scaleLinear({ domain: [0, largest || 1], range: [bottom, MARGIN.top], nice: true })
  const every = Math.max(1, Math.ceil((days.length * LABEL_WIDTH) / (width - MARGIN.left)))
  const labelled = days.filter((_, index) => (days.length - 1 - index) % every === 0).map(({ day }) => day)
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {y.ticks(4).map((tick) => (
        <line key={tick} className="chart-grid" x1={MARGIN.left} x2={width} y1={y(tick)} y2={y(tick)} />
      ))}
      {days.map((day) => {
        const top = y(approximateAmount(day.cost_usd))
        return (
          <g
            key={day.day}
            className="chart-column"
            data-active={active?.day === day.day}
            onPointerEnter={() => onActive(day)}
            onPointerLeave={() => onActive(null)}
          >
            <rect
              className="chart-hit"
              x={x(day.day)}
              y={MARGIN.top}
              width={x.bandwidth()}
              height={bottom - MARGIN.top}
            />
            <rect
              className="chart-bar"
              x={x(day.day)}
              y={top}
              width={x.bandwidth()}
              height={bottom - top}
              rx={BAR_RADIUS}
            />
          </g>
        )
      })}
      <AxisLeft
        scale={y}
        left={MARGIN.left}
        tickValues={y.ticks(4)}
        tickFormat={(value) => axisAmount(Number(value))}
        hideAxisLine
        hideTicks
        tickLabelProps={{ ...LABEL, textAnchor: 'end', dx: -4, dy: 4 }}
      />
      <AxisBottom
        scale={x}
        top={bottom}
        tickValues={labelled}
        tickFormat={formatShortDay}
        hideTicks
        axisLineClassName="chart-grid"
        tickLabelProps={{ ...LABEL, textAnchor: 'middle', dy: 2 }}
      />
    </svg>
  )
}
