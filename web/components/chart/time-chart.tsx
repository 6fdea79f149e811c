import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { axisMarks, columnAt, columnPlaces, lineRuns, stepOf } from '../../lib/chart-scale.ts'
import { textWidth, useWidth } from './chart-width.ts'

export interface ChartPoint {
  /** Names the point; its label is made of it. */
  at: string
  /** Null: not known. A line has a gap there. */
  value: number | null
  /** A second bar in front of the first, in the colour of errors. */
  errors?: number
  /** What the value is made of, drawn upon each other instead of one bar; `fill` is a class for bars and for keys. */
  parts?: ReadonlyArray<{ name: string; value: number; fill: string }>
  /** A second line. */
  second?: number | null
  /** Shown beside the pointer, and read out. */
  text: string
}

export interface TimeChartProps {
  /** Columns unless it says otherwise. */
  kind?: 'lines'
  points: readonly ChartPoint[]
  /** A mark of the axis; `step` is the distance between two. */
  formatValue: (value: number, step?: number) => string
  formatLabel: (at: string) => string
  /** The values are whole numbers, and so are the marks of the axis. */
  isWhole?: boolean
  /** A point was clicked, or chosen by Enter. */
  onPick?: ((at: string) => void) | undefined
}

const HEIGHT = 200
const TOP = 10
const RIGHT = 12
const BOTTOM = HEIGHT - 26
const LABEL_GAP = 16
const BAR_RADIUS = 3
/** Of a step from one column to the next. */
const PADDING = 0.25
const LABEL = 'fill-muted text-xs tabular-nums'

/**
 * Values over time as columns or lines. The pointer, a finger and the arrow keys choose a point, whose values are shown
 * beside it; all values are in the table beside the drawing.
 */
export function TimeChart(props: TimeChartProps & { label: string }) {
  const { points, label, onPick } = props
  const area = useRef<HTMLDivElement>(null)
  const width = useWidth(area)
  const [active, setActive] = useState<number | null>(null)
  const last = points.length - 1
  const shown = active === null ? undefined : points[active]
  const scale = scaleOf(props, width)
  const point = (event: PointerEvent) =>
    setActive(
      columnAt(
        points.length,
        scale.left,
        width - RIGHT,
        event.clientX - event.currentTarget.getBoundingClientRect().left,
      ),
    )
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = stepOf(event.key, active, last)
    if (event.key === 'Enter' && shown) onPick?.(shown.at)
    else if (moved !== undefined) setActive(moved)
    else return
    event.preventDefault()
  }
  return (
    <div
      ref={area}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={active ?? last}
      aria-valuetext={(shown ?? points[last])?.text}
      className={`relative min-h-[200px] touch-pan-y contain-inline-size ${onPick ? 'cursor-pointer' : ''}`}
      onKeyDown={onKeyDown}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => setActive(null)}
      onBlur={() => setActive(null)}
      onClick={() => shown && onPick?.(shown.at)}
    >
      {width > 0 && <Drawing {...props} width={width} active={active} scale={scale} />}
      {shown && active !== null && (
        <Tip point={shown} x={scale.middle(active)} width={width} format={props.formatValue} />
      )}
    </div>
  )
}

type Scale = ReturnType<typeof scaleOf>

/** Where everything is drawn: the axis has the room that its widest label needs. */
function scaleOf({ points, formatValue, formatLabel, isWhole = false }: TimeChartProps, width: number) {
  const values = points.flatMap(({ value, errors, second }) => [value ?? 0, errors ?? 0, second ?? 0])
  const ticks = axisMarks(Math.max(isWhole ? 4 : 0, ...values), isWhole)
  const marks = ticks.map((tick) => ({ tick, text: formatValue(tick, ticks[1]) }))
  const left = Math.ceil(Math.max(...marks.map(({ text }) => textWidth(text)))) + 10
  const places = columnPlaces(points.length, left, width - RIGHT, PADDING)
  const label = Math.max(0, ...points.map(({ at }) => textWidth(formatLabel(at)))) + LABEL_GAP
  return {
    marks,
    left,
    places,
    middle: (index: number) => places.left(index) + places.width / 2,
    y: (value: number) => BOTTOM - (value / ticks.at(-1)!) * (BOTTOM - TOP),
    /** Every so many points have a label. */
    every: Math.max(1, Math.ceil((points.length * label) / Math.max(1, width - left))),
  }
}

/** The values of a point, on the side of it that has room. */
function Tip(props: { point: ChartPoint; x: number; width: number; format: TimeChartProps['formatValue'] }) {
  const { point, x, width, format } = props
  const parts = (point.parts ?? [])
    .filter(({ value }) => value > 0)
    .toSorted((one, other) => other.value - one.value)
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute top-0 z-10 grid w-max max-w-[min(18rem,80%)] gap-1 rounded-md border border-line bg-surface px-3 py-2 text-sm shadow-md tabular-nums"
      style={x < width / 2 ? { left: x + 12 } : { right: width - x + 12 }}
    >
      <span className="font-medium">{point.text}</span>
      {parts.map(({ name, value, fill }) => (
        <span key={name} className="flex items-center gap-2">
          <span className={`size-2.5 flex-none rounded-sm ${fill}`} />
          <span className="min-w-0 flex-1 truncate">{name}</span>
          {format(value)}
        </span>
      ))}
    </div>
  )
}

function Drawing(props: TimeChartProps & { width: number; active: number | null; scale: Scale }) {
  const { kind, points, formatLabel, width, active, scale } = props
  const { marks, left, places, middle, y, every } = scale
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true" className="block">
      {marks.map(({ tick, text }) => (
        <g key={tick}>
          <line className="stroke-line" x1={left} x2={width} y1={y(tick)} y2={y(tick)} />
          <text className={LABEL} x={left - 8} y={y(tick) + 4} textAnchor="end">
            {text}
          </text>
        </g>
      ))}
      {active !== null && (
        <rect
          className="fill-sunken"
          x={places.left(active)}
          width={places.width}
          y={TOP}
          height={BOTTOM - TOP}
        />
      )}
      {kind === 'lines' ? (
        <>
          <Line values={points.map(({ second = null }) => second)} colour={2} scale={scale} active={active} />
          <Line values={points.map(({ value }) => value)} colour={1} scale={scale} active={active} />
        </>
      ) : (
        points.map((point, index) => (
          <Column key={point.at} point={point} index={index} isActive={index === active} scale={scale} />
        ))
      )}
      {points.map(({ at }, index) => {
        if ((points.length - 1 - index) % every !== 0) return null
        const text = formatLabel(at)
        const x = Math.min(middle(index), width - textWidth(text) / 2)
        return (
          <text key={at} className={LABEL} x={x} y={BOTTOM + 18} textAnchor="middle">
            {text}
          </text>
        )
      })}
      <line className="stroke-line" x1={left} x2={width - RIGHT} y1={BOTTOM} y2={BOTTOM} />
    </svg>
  )
}

function Column(props: { point: ChartPoint; index: number; isActive: boolean; scale: Scale }) {
  const { point, index, isActive, scale } = props
  const { value, errors = 0, parts } = point
  const bar = (className: string, top: number, bottom = BOTTOM) => (
    <rect
      className={className}
      x={scale.places.left(index)}
      y={top}
      width={scale.places.width}
      height={bottom - top}
      rx={bottom === BOTTOM ? BAR_RADIUS : 0}
    />
  )
  // Errors stand out before a neutral bar only.
  const [fill, fillActive] =
    point.errors === undefined ? ['fill-accent-fill', 'fill-accent'] : ['fill-series-8', 'fill-muted']
  let below = 0
  return (
    <>
      {parts
        ? parts.map((part) => {
            const bottom = scale.y(below)
            below += part.value
            return <g key={part.name}>{part.value > 0 && bar(part.fill, scale.y(below), bottom)}</g>
          })
        : bar(isActive ? fillActive : fill, scale.y(value ?? 0))}
      {errors > 0 && bar('fill-bad-fill', scale.y(errors))}
    </>
  )
}

const LINES = {
  1: ['stroke-accent-fill', 'fill-accent-fill'],
  2: ['stroke-series-2', 'fill-series-2'],
} as const

function Line(props: {
  values: ReadonlyArray<number | null>
  colour: keyof typeof LINES
  scale: Scale
  active: number | null
}) {
  const { values, scale, active } = props
  const [stroke, fill] = LINES[props.colour]
  const dot = (index: number, value: number) => (
    <circle key={index} className={fill} cx={scale.middle(index)} cy={scale.y(value)} r={3} />
  )
  const chosen = active === null ? null : (values[active] ?? null)
  return (
    <>
      {lineRuns(values).map((run) =>
        run.length === 1 ? (
          run.map(([index, value]) => dot(index, value))
        ) : (
          <polyline
            key={run[0]?.[0]}
            className={`fill-none stroke-2 ${stroke}`}
            strokeLinejoin="round"
            points={run.map(([index, value]) => `${scale.middle(index)},${scale.y(value)}`).join(' ')}
          />
        ),
      )}
      {active !== null && chosen !== null && dot(active, chosen)}
    </>
  )
}
