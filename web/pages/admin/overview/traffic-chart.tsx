import { AxisBottom, AxisLeft } from '@visx/axis'
import { useParentSize } from '@visx/responsive'
import { scaleBand, scaleLinear } from '@visx/scale'
import { useState } from 'react'
import type { TrafficPoint, TrafficView } from '../../../../src/core/api/operations.ts'
import { formatTime } from '../../../lib/dates.ts'
import { formatCount, plural } from '../../../lib/figures.ts'
import { endedCalls, serverErrors } from '../../../lib/traffic-figures.ts'

const HEIGHT = 200
const MARGIN = { top: 10, right: 18, bottom: 26, left: 46 }
const LABEL_WIDTH = 90
const LABEL = { className: 'chart-label' }

/** A bar for each step: calls that ended, and within it those requests that failed. The table beside it is exact. */
export function TrafficChart({ traffic }: { traffic: TrafficView }) {
  const { parentRef, width } = useParentSize({ debounceTime: 50 })
  const [active, setActive] = useState<TrafficPoint | null>(null)
  return (
    <div className="stack-small">
      <p className="chart-note" aria-hidden="true">
        {active ? (
          `${formatTime(active.at)}: ${plural(endedCalls(active), 'call')} ended, ${serverErrors(active)} × 5xx`
        ) : (
          <span className="row">
            <span className="chart-key">calls ended</span>
            <span className="chart-key chart-key-bad">answered with 5xx</span>
          </span>
        )}
      </p>
      <div className="chart" ref={parentRef}>
        {width > 0 && (
          <Bars points={traffic.data} width={width} active={active?.at ?? null} onActive={setActive} />
        )}
      </div>
    </div>
  )
}

function Bars(props: {
  points: readonly TrafficPoint[]
  width: number
  active: string | null
  onActive: (point: TrafficPoint | null) => void
}) {
  const { points, width, active, onActive } = props
  const bottom = HEIGHT - MARGIN.bottom
  const x = scaleBand({
    domain: points.map(({ at }) => at),
    range: [MARGIN.left, width - MARGIN.right],
    padding: 0.2,
  })
  const largest = Math.max(4, ...points.map((point) => Math.max(endedCalls(point), serverErrors(point))))
  const y = scaleLinear({ domain: [0, largest], range: [bottom, MARGIN.top], nice: true })
  const ticks = y.ticks(4).filter(Number.isInteger)
  const every = Math.max(1, Math.ceil((points.length * LABEL_WIDTH) / (width - MARGIN.left)))
  const labelled = points.filter((_, index) => (points.length - 1 - index) % every === 0).map(({ at }) => at)
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <line key={tick} className="chart-grid" x1={MARGIN.left} x2={width} y1={y(tick)} y2={y(tick)} />
      ))}
      {points.map((point) => (
        <g
          key={point.at}
          className="chart-column"
          data-active={active === point.at}
          onPointerEnter={() => onActive(point)}
          onPointerLeave={() => onActive(null)}
        >
          <rect
            className="chart-hit"
            x={x(point.at)}
            y={MARGIN.top}
            width={x.bandwidth()}
            height={bottom - MARGIN.top}
          />
          <Bar x={x(point.at)} width={x.bandwidth()} top={y(endedCalls(point))} bottom={bottom} />
          <Bar x={x(point.at)} width={x.bandwidth()} top={y(serverErrors(point))} bottom={bottom} isBad />
        </g>
      ))}
      <AxisLeft
        scale={y}
        left={MARGIN.left}
        tickValues={ticks}
        tickFormat={(value) => formatCount(Number(value))}
        hideAxisLine
        hideTicks
        tickLabelProps={{ ...LABEL, textAnchor: 'end', dx: -4, dy: 4 }}
      />
      <AxisBottom
        scale={x}
        top={bottom}
        tickValues={labelled}
        tickFormat={formatTime}
        hideTicks
        axisLineClassName="chart-grid"
        tickLabelProps={{ ...LABEL, textAnchor: 'middle', dy: 2 }}
      />
    </svg>
  )
}

function Bar(props: { x: number | undefined; width: number; top: number; bottom: number; isBad?: boolean }) {
  const { x, width, top, bottom, isBad = false } = props
  return (
    <rect
      className={isBad ? 'chart-bar chart-bar-bad' : 'chart-bar'}
      x={x}
      y={top}
      width={width}
      height={Math.max(0, bottom - top)}
      rx={2}
    />
  )
}
