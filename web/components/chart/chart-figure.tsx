import { type ComponentProps, lazy, type ReactNode, Suspense } from 'react'

// The drawing needs more code than the rest of the page, which does not wait for it.
const ColumnChart = lazy(async () => ({ default: (await import('./column-chart.tsx')).ColumnChart }))

/** What a colour of a chart stands for. */
export const ChartKey = ({ colour, children }: { colour: string; children: string }) => (
  <span className="line">
    <span className={`size-3 rounded-sm ${colour}`} />
    {children}
  </span>
)

/** A chart, with its values as a table for screen readers and for exact reading. */
export const ChartFigure = (props: {
  caption: string
  chart: ComponentProps<typeof ColumnChart>
  table: ReactNode
  children?: ReactNode
}) => (
  <figure className="stack gap-2">
    <figcaption className="sr-only">
      {props.caption} The same values follow as a table under “Show as a table”.
    </figcaption>
    <Suspense fallback={<span className="skeleton h-56" />}>
      <ColumnChart {...props.chart} />
    </Suspense>
    {props.children}
    <details className="disclosure">
      <summary>Show as a table</summary>
      {props.table}
    </details>
  </figure>
)
