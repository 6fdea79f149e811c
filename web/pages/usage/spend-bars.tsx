import type { UsageRowView, UsageView } from '../../../src/core/api/usage.ts'
import { Money } from '../../components/text/values.tsx'
import { approximateAmount, plural } from '../../lib/format.ts'

const SHOWN = 8

/** Spend by model or key, dearest first: a list that is also a chart. */
export function SpendBars(props: { usage: UsageView; name: (row: UsageRowView) => string; label: string }) {
  const { usage, name, label } = props
  const rows = usage.data.toSorted((a, b) => approximateAmount(b.cost_usd) - approximateAmount(a.cost_usd))
  const largest = approximateAmount(rows[0]?.cost_usd ?? '0') || 1
  if (rows.length === 0) return <p className="panel-body muted">No calls in this span.</p>
  return (
    <div className="panel-body">
      <ul className="chart-rows" aria-label={label}>
        {rows.slice(0, SHOWN).map((row) => (
          <Bar key={name(row)} row={row} name={name(row)} share={approximateAmount(row.cost_usd) / largest} />
        ))}
      </ul>
      {rows.length > SHOWN && (
        <details className="disclosure">
          <summary>{plural(rows.length - SHOWN, 'more', 'more')}</summary>
          <ul className="chart-rows" aria-label={`${label}, the rest`}>
            {rows.slice(SHOWN).map((row) => (
              <Bar
                key={name(row)}
                row={row}
                name={name(row)}
                share={approximateAmount(row.cost_usd) / largest}
              />
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

function Bar({ row, name, share }: { row: UsageRowView; name: string; share: number }) {
  return (
    <li className="chart-row">
      <span className="anywhere">
        {name} <span className="muted small">{plural(row.calls, 'call')}</span>
      </span>
      <Money usd={row.cost_usd} />
      <span className="chart-row-track" aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
    </li>
  )
}
