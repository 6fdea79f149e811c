import { type ComponentProps, lazy, type ReactNode, Suspense } from 'react'

// The drawing needs more code than the rest of the page, which does not wait for it.
const ColumnChart = lazy(async () => ({ default: (await import('./column-chart.tsx')).ColumnChart }))

/** What a colour of a chart means. */
export const ChartKey = ({ colour, children }: { colour: string; children: string }) => (
  <span className="line">
    <span className={`size-3 rounded-sm ${colour}`} />
    {children}
  </span>
)

/**
 * A chart, with its values as a table for screen readers and for exact reading; a line of text while all are zero. `stale`:
 * it is what was asked for before, shown until what is asked for now is there.
 */
export function ChartFigure(props: {
  caption: string
  chart: ComponentProps<typeof ColumnChart>
  table: ReactNode
  children?: ReactNode
  stale?: boolean
}) {
  const { caption, chart, table, children, stale = false } = props
  const looks = stale ? 'stack gap-2 opacity-50 transition-opacity' : 'stack gap-2'
  if (chart.columns.every(({ value, errors = 0 }) => value === 0 && errors === 0))
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
      <Suspense fallback={<span className="skeleton h-56" />}>
        <ColumnChart {...chart} />
      </Suspense>
      {children}
      <details className="disclosure">
        <summary>Show as a table</summary>
        {table}
      </details>
    </figure>
  )
}
