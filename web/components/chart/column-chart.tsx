import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { axisMarks, columnPlaces } from '../../lib/chart-scale.ts'

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
/** Of a step from one column to the next. */
const PADDING = 0.25
const LABEL = 'fill-muted text-xs tabular-nums'

/** Values over time as columns. A drawing only: the exact values are in the table beside it. */
export function ColumnChart(props: ColumnChartProps) {
  const parentRef = useRef<HTMLDivElement>(null)
  const width = useWidth(parentRef)
  const [active, setActive] = useState<string | null>(null)
  const text = props.columns.find(({ at }) => at === active)?.text
  return (
    <div className="stack gap-2">
      <p className="min-h-[1.5em] text-sm text-soft tabular-nums" aria-hidden="true">
        {text ?? props.idle}
      </p>
      <div className="relative min-h-[220px] contain-inline-size" ref={parentRef}>
        {width > 0 && <Drawing {...props} width={width} active={active} onActive={setActive} />}
      </div>
    </div>
  )
}

/** The width of an element in pixels, also after it changes; 0 before it is known. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0))
    observer.observe(element.current!)
    return () => observer.disconnect()
  }, [element])
  return width
}

function Drawing(
  props: ColumnChartProps & {
    width: number
    active: string | null
    onActive: (at: string | null) => void
  },
) {
  const { columns, formatValue, formatLabel, labelWidth, isWhole = false, width, active, onActive } = props
  const places = columnPlaces(columns.length, MARGIN.left, width - MARGIN.right, PADDING)
  const largest = Math.max(
    isWhole ? 4 : 0,
    ...columns.map(({ value, errors = 0 }) => Math.max(value, errors)),
  )
  const ticks = axisMarks(largest, isWhole)
  const y = (value: number) => BOTTOM - (value / ticks.at(-1)!) * (BOTTOM - MARGIN.top)
  const every = Math.max(1, Math.ceil((columns.length * labelWidth) / (width - MARGIN.left)))
  const bar = (index: number, className: string, top: number, bottom = BOTTOM) => (
    <rect
      className={className}
      x={places.left(index)}
      y={top}
      width={places.width}
      height={bottom - top}
      rx={bottom === BOTTOM ? BAR_RADIUS : 0}
    />
  )
  // Errors stand out before a neutral bar only.
  const hasErrors = columns.some(({ errors }) => errors !== undefined)
  const [fill, fillActive] = hasErrors ? ['fill-series-8', 'fill-muted'] : ['fill-accent-fill', 'fill-accent']
  const stack = (place: number, parts: NonNullable<ChartColumn['parts']>) => {
    let below = 0
    return parts.map(({ value, fill }, index) => {
      const bottom = y(below)
      below += value
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have a place and no name.
        <g key={index}>{value > 0 && bar(place, fill, y(below), bottom)}</g>
      )
    })
  }
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line className="stroke-line" x1={MARGIN.left} x2={width} y1={y(tick)} y2={y(tick)} />
          <text className={LABEL} x={MARGIN.left - 8} y={y(tick) + 4} textAnchor="end">
            {formatValue(tick, ticks[1]!)}
          </text>
        </g>
      ))}
      {columns.map(({ at, value, errors = 0, parts }, index) => (
        <g key={at} onPointerEnter={() => onActive(at)} onPointerLeave={() => onActive(null)}>
          {bar(index, active === at ? 'fill-sunken' : 'fill-transparent', MARGIN.top)}
          {parts ? stack(index, parts) : bar(index, active === at ? fillActive : fill, y(value))}
          {errors > 0 && bar(index, 'fill-bad-fill', y(errors))}
          {(columns.length - 1 - index) % every === 0 && (
            <text
              className={LABEL}
              x={places.left(index) + places.width / 2}
              y={BOTTOM + 18}
              textAnchor="middle"
            >
              {formatLabel(at)}
            </text>
          )}
        </g>
      ))}
      <line className="stroke-line" x1={MARGIN.left} x2={width - MARGIN.right} y1={BOTTOM} y2={BOTTOM} />
    </svg>
  )
}
