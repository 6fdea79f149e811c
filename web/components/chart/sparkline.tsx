import { lineRuns } from '../../lib/chart-scale.ts'

const [WIDTH, HEIGHT] = [100, 20]

/** How a figure went, without an axis: its values are in a chart or table of the page. Nothing without two values. */
export function Sparkline({ values }: { values: ReadonlyArray<number | null> }) {
  const most = Math.max(...values.map((value) => value ?? 0))
  if (values.length < 2 || most <= 0) return null
  const x = (index: number) => (index / (values.length - 1)) * WIDTH
  const y = (value: number) => HEIGHT - 1 - (value / most) * (HEIGHT - 2)
  return (
    <svg
      aria-hidden="true"
      className="mt-1 block h-5 w-full max-w-48"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      {lineRuns(values).map((run) => (
        <polyline
          key={run[0]?.[0]}
          className="fill-none stroke-accent-fill"
          strokeWidth={1.5}
          vectorEffect="non-scaling-stroke"
          points={run.map(([index, value]) => `${x(index)},${y(value)}`).join(' ')}
        />
      ))}
    </svg>
  )
}
