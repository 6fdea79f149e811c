import { AxisBottom, AxisLeft } from '@visx/axis'
import { useParentSize } from '@visx/responsive'
import { scaleBand, scaleLinear } from '@visx/scale'
import { type ReactNode, useState } from 'react'

export interface ChartColumn {
  /** Names the column; its label is made of it. */
  at: string
  value: number
  /** A second bar in front of the first, in the colour of errors. */
  errors?: number
  /** What the value is made of, drawn upon each other instead of one bar; `fill` is a class. */
  parts?: ReadonlyArray<{ value: number; fill: string }>
  /** Shown while the pointer is on the column. */
  text: string
}

interface ColumnChartProps {
  columns: readonly ChartColumn[]
  /** Shown while the pointer is on no column. */
  idle: ReactNode
  /** A mark of the axis; `step` is the distance between two. */
  formatValue: (value: number, step: number) => string
  formatLabel: (at: string) => string
  /** Room for one label below the columns. */
  labelWidth: number
  /** The values are whole numbers, and so are the marks of the axis. */
  isWhole?: boolean
}

const HEIGHT = 220
const MARGIN = { top: 10, right: 18, bottom: 26, left: 58 }
const BOTTOM = HEIGHT - MARGIN.bottom
const BAR_RADIUS = 3
const LABEL = { className: 'fill-muted text-[11px] tabular-nums', fontFamily: 'inherit' }

/** Values over time as columns. A drawing only: the exact values are in the table beside it. */
export function ColumnChart(props: ColumnChartProps) {
  const { parentRef, width } = useParentSize({ debounceTime: 50 })
  const [active, setActive] = useState<string | null>(null)
  const text = props.columns.find(({ at }) => at === active)?.text
  const isEmpty = props.columns.every(({ value, errors = 0 }) => value === 0 && errors === 0)
  return (
    <div className="stack gap-2">
      <p className="min-h-[1.5em] text-sm text-soft tabular-nums" aria-hidden="true">
        {text ?? (isEmpty ? null : props.idle)}
      </p>
      <div className="relative min-h-[220px] contain-inline-size" ref={parentRef}>
        {isEmpty ? (
          <p className="absolute inset-0 grid place-items-center text-muted">Nothing in this period.</p>
        ) : (
          width > 0 && <Drawing {...props} width={width} active={active} onActive={setActive} />
        )}
      </div>
    </div>
  )
}

function Drawing(
  props: ColumnChartProps & {
    width: number
    active: string | null
    onActive: (at: string | null) => void
  },
) {
  const { columns, formatValue, formatLabel, labelWidth, isWhole = false, width, active, onActive } = props
  const x = scaleBand({
    domain: columns.map(({ at }) => at),
    range: [MARGIN.left, width - MARGIN.right],
    padding: 0.25,
  })
  const largest = Math.max(
    isWhole ? 4 : 0,
    ...columns.map(({ value, errors = 0 }) => Math.max(value, errors)),
  )
  const y = scaleLinear({ domain: [0, largest || 1], range: [BOTTOM, MARGIN.top], nice: true })
  const ticks = y.ticks(4).filter((tick) => !isWhole || Number.isInteger(tick))
  const every = Math.max(1, Math.ceil((columns.length * labelWidth) / (width - MARGIN.left)))
  const labelled = columns.filter((_, index) => (columns.length - 1 - index) % every === 0)
  const bar = (at: string, className: string, top: number, bottom = BOTTOM) => (
    <rect
      className={className}
      x={x(at)}
      y={top}
      width={x.bandwidth()}
      height={bottom - top}
      rx={bottom === BOTTOM ? BAR_RADIUS : 0}
    />
  )
  // Errors stand out before a neutral bar only.
  const hasErrors = columns.some(({ errors }) => errors !== undefined)
  const [fill, fillActive] = hasErrors ? ['fill-series-8', 'fill-muted'] : ['fill-accent-fill', 'fill-accent']
  const stack = (at: string, parts: NonNullable<ChartColumn['parts']>) => {
    let below = 0
    return parts.map(({ value, fill }, index) => {
      const bottom = y(below)
      below += value
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have a place and no name.
        <g key={index}>{value > 0 && bar(at, fill, y(below), bottom)}</g>
      )
    })
  }
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <line key={tick} className="stroke-line" x1={MARGIN.left} x2={width} y1={y(tick)} y2={y(tick)} />
      ))}
      {columns.map(({ at, value, errors = 0, parts }) => (
        <g key={at} onPointerEnter={() => onActive(at)} onPointerLeave={() => onActive(null)}>
          {bar(at, active === at ? 'fill-sunken' : 'fill-transparent', MARGIN.top)}
          {parts ? stack(at, parts) : bar(at, active === at ? fillActive : fill, y(value))}
          {errors > 0 && bar(at, 'fill-bad-fill', y(errors))}
        </g>
      ))}
      <AxisLeft
        scale={y}
        left={MARGIN.left}
        tickValues={ticks}
        tickFormat={(value) => formatValue(Number(value), ticks[1] ?? 0)}
        hideAxisLine
        hideTicks
        tickLabelProps={{ ...LABEL, textAnchor: 'end', dx: -4, dy: 4 }}
      />
      <AxisBottom
        scale={x}
        top={BOTTOM}
        tickValues={labelled.map(({ at }) => at)}
        tickFormat={formatLabel}
        hideTicks
        axisLineClassName="stroke-line"
        tickLabelProps={{ ...LABEL, textAnchor: 'middle', dy: 2 }}
      />
    </svg>
  )
}
