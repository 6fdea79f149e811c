import { lazy, type ReactNode, Suspense } from 'react'
import type { TimeChartProps } from './time-chart.tsx'

// The drawing needs more code than the rest of the page, which does not wait for it.
const TimeChart = lazy(async () => ({ default: (await import('./time-chart.tsx')).TimeChart }))

/** What a colour of a chart means. */
export const ChartKey = ({ colour, children }: { colour: string; children: string }) => (
  <span className="line">
    <span className={`size-3 flex-none rounded-sm ${colour}`} />
    {children}
  </span>
)

/**
 * A chart below what its colours mean, with its values as a table for screen readers and for exact reading; a line of text
 * while all are zero. `stale`: it is what was asked for before, shown until what is asked for now is there. Without a
 * `table` it is one of several charts beside a common one.
 */
export function ChartFigure(props: {
  caption: string
  chart: TimeChartProps
  keys?: ReactNode
  table?: ReactNode
  children?: ReactNode
  stale?: boolean
}) {
  const { caption, chart, keys, table, children, stale = false } = props
  const looks = `stack gap-2 content-start ${stale ? 'opacity-50 transition-opacity' : ''}`
  if (chart.points.every(({ value, errors, second }) => !value && !errors && !second))
    return (
      <div className={looks}>
        <p className="py-6 text-center text-muted">Nothing in this period.</p>
        {children}
      </div>
    )
  return (
    <figure className={looks} aria-busy={stale}>
      <figcaption className="sr-only">
        {caption} The same values follow as a table under “Show as a table”.
      </figcaption>
      {keys && <div className="row gap-x-4 gap-y-1 text-sm text-soft">{keys}</div>}
      <Suspense fallback={<span className="skeleton h-[200px]" />}>
        <TimeChart {...chart} label={caption} />
      </Suspense>
      {children}
      {table && <TableOfChart>{table}</TableOfChart>}
    </figure>
  )
}

/** The values of one chart, or of several beside each other. */
export const TableOfChart = ({ children }: { children: ReactNode }) => (
  <details className="disclosure">
    <summary>Show as a table</summary>
    {children}
  </details>
)
