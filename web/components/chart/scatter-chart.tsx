import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { axisMarks, logMarks, nearestPoint, stepOf } from '../../lib/chart-scale.ts'
import { textWidth, useWidth } from './chart-width.ts'

export interface ScatterPoint {
  id: string
  name: string
  /** Above zero: the axis is logarithmic. */
  x: number
  y: number
  /** Above and below `y`. */
  error: number
  /** A class for points and for keys. */
  fill: string
  /** Shown at the point, and read out. */
  text: string
}

interface ScatterProps {
  label: string
  /** From left to right. */
  points: readonly ScatterPoint[]
  /** Joined by a line, and named where there is room. */
  frontier: readonly ScatterPoint[]
  formatX: (value: number) => string
  formatY: (value: number) => string
  /** A point was clicked, or chosen by Enter. */
  onPick: (id: string) => void
}

const HEIGHT = 380
const TOP = 12
const RIGHT = 16
const BOTTOM = HEIGHT - 28
const LABEL = 'fill-muted text-xs tabular-nums'

/** Points with their errors over a logarithmic axis. The pointer and the arrow keys choose one, whose text is shown at it. */
export function ScatterChart(props: ScatterProps) {
  const { label, points, onPick } = props
  const area = useRef<HTMLDivElement>(null)
  const width = useWidth(area)
  const [active, setActive] = useState<number | null>(null)
  const scale = scaleOf(props, width)
  const shown = active === null ? undefined : points[active]
  const point = (event: PointerEvent) => {
    const { left, top } = event.currentTarget.getBoundingClientRect()
    const at = { x: event.clientX - left, y: event.clientY - top }
    setActive(
      nearestPoint(
        points.map(({ x, y }) => ({ x: scale.x(x), y: scale.y(y) })),
        at,
      ),
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = stepOf(event.key, active, points.length - 1)
    if (event.key === 'Enter' && shown) onPick(shown.id)
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
      aria-valuemax={points.length - 1}
      aria-valuenow={active ?? 0}
      aria-valuetext={(shown ?? points[0])?.text}
      className={`relative touch-pan-y contain-inline-size ${shown ? 'cursor-pointer' : ''}`}
      style={{ minHeight: HEIGHT }}
      onKeyDown={onKeyDown}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => setActive(null)}
      onBlur={() => setActive(null)}
      onClick={() => shown && onPick(shown.id)}
    >
      {width > 0 && <Drawing {...props} shown={shown} width={width} scale={scale} />}
      {shown && <Tip point={shown} x={scale.x(shown.x)} y={scale.y(shown.y)} width={width} />}
    </div>
  )
}

type Scale = ReturnType<typeof scaleOf>

function scaleOf({ points, formatX, formatY }: ScatterProps, width: number) {
  const rows = axisMarks(Math.max(...points.map(({ y, error }) => y + error)))
  const columns = logMarks(
    points.map(({ x }) => x),
    Math.max(2, Math.floor(width / 90)),
  )
  const left = Math.ceil(Math.max(...rows.map((row) => textWidth(formatY(row))))) + 10
  const [low, high] = [Math.log(columns[0]!), Math.log(columns.at(-1)!)]
  return {
    rows,
    columns: columns.map((value) => ({ value, text: formatX(value) })),
    left,
    x: (value: number) => left + ((Math.log(value) - low) / (high - low)) * (width - RIGHT - left),
    y: (value: number) => BOTTOM - (value / rows.at(-1)!) * (BOTTOM - TOP),
  }
}

function Drawing(props: ScatterProps & { shown: ScatterPoint | undefined; width: number; scale: Scale }) {
  const { points, frontier, formatY, shown, width, scale } = props
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true" className="block">
      {scale.rows.map((row) => (
        <g key={row}>
          <line className="stroke-line" x1={scale.left} x2={width} y1={scale.y(row)} y2={scale.y(row)} />
          <text className={LABEL} x={scale.left - 8} y={scale.y(row) + 4} textAnchor="end">
            {formatY(row)}
          </text>
        </g>
      ))}
      {scale.columns.map(({ value, text }) => (
        <text
          key={value}
          className={LABEL}
          x={Math.min(scale.x(value), width - textWidth(text) / 2)}
          y={BOTTOM + 20}
          textAnchor="middle"
        >
          {text}
        </text>
      ))}
      <polyline
        className="fill-none stroke-line-strong"
        strokeDasharray="3 4"
        points={frontier.map(({ x, y }) => `${scale.x(x)},${scale.y(y)}`).join(' ')}
      />
      {points.map((point) => (
        <Dot key={point.id} point={point} scale={scale} isFaint={shown !== undefined} />
      ))}
      {namedOf(frontier, scale, width).map(({ id, name, x, y }) => (
        <text key={id} className="fill-soft text-xs" x={x} y={y} textAnchor="end">
          {name}
        </text>
      ))}
      {shown && <Dot point={shown} scale={scale} isFaint={false} isShown />}
    </svg>
  )
}

function Dot(props: { point: ScatterPoint; scale: Scale; isFaint: boolean; isShown?: boolean }) {
  const { point, scale, isFaint, isShown } = props
  const [x, y] = [scale.x(point.x), scale.y(point.y)]
  return (
    <g className={point.fill} opacity={isFaint ? 0.35 : 1}>
      <line
        className="stroke-line-strong"
        opacity={isShown ? 1 : 0.5}
        x1={x}
        x2={x}
        y1={scale.y(point.y + point.error)}
        y2={scale.y(Math.max(0, point.y - point.error))}
      />
      <circle cx={x} cy={y} r={isShown ? 6 : 4} />
    </g>
  )
}

/** The names that have room to the left of their points: none is written over another. */
function namedOf(frontier: readonly ScatterPoint[], scale: Scale, width: number) {
  const placed: Array<{ id: string; name: string; x: number; y: number }> = []
  for (const { id, name, x, y } of frontier.toReversed()) {
    const at = { id, name, x: scale.x(x) - 8, y: scale.y(y) - 6 }
    const isFree = placed.every((other) => Math.abs(other.y - at.y) > 14)
    if (isFree && at.x - textWidth(name) > scale.left && at.x < width) placed.push(at)
  }
  return placed
}

/** At the point, on the side of it that has room. */
function Tip({ point, x, y, width }: { point: ScatterPoint; x: number; y: number; width: number }) {
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute z-10 w-max max-w-[min(18rem,80%)] rounded-md border border-line bg-surface px-3 py-2 text-sm shadow-md tabular-nums"
      style={{ top: Math.max(0, y - 28), ...(x < width / 2 ? { left: x + 14 } : { right: width - x + 14 }) }}
    >
      <span className="font-medium">{point.name}</span>
      <br />
      {point.text}
    </div>
  )
}
