import { type ComponentProps, lazy, type ReactNode, Suspense } from 'react'

// The drawing needs more code than the rest of the page, which does not wait for it.
const ColumnChart = lazy(async () => ({ default: (await import('./column-chart.tsx')).ColumnChart }))

/** A chart, with its values as a table for screen readers and for exact reading. */
export function ChartFigure(props: {
  caption: string
  chart: ComponentProps<typeof ColumnChart>
  table: ReactNode
  children?: ReactNode
}) {
  return (
    <figure className="stack-small">
      <figcaption className="visually-hidden">
        {props.caption} The same values follow as a table under “Show as a table”.
      </figcaption>
      <Suspense fallback={<span className="skeleton skeleton-block" />}>
        <ColumnChart {...props.chart} />
      </Suspense>
      {props.children}
      <details className="disclosure">
        <summary>Show as a table</summary>
        {props.table}
      </details>
    </figure>
  )
}
