import { Link } from '@tanstack/react-router'
import type { UsageSeriesView } from '../../../src/core/api/usage.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatCount, formatDuration } from '../../lib/format.ts'
import { type Measure, measured } from '../../lib/usage-view.ts'

/** The figures of every model or key, the largest first; its name shows its requests. `keyId`: those of one key. */
export function UsageBreakdown(props: { view: UsageSeriesView; measure: Measure; keyId?: string }) {
  const { view, measure, keyId } = props
  const rows = view.groups.toSorted((a, b) => measured(b, measure) - measured(a, measure))
  const isKey = view.group_by === 'key'
  const name = (row: (typeof rows)[number]) => row.name || row.group
  return (
    <DataTable
      caption={`Usage by ${isKey ? 'API key' : 'model'}; times are medians`}
      rows={rows}
      rowKey={({ group }) => group}
      empty="No requests in this period."
      columns={{
        [isKey ? 'API key' : 'Model']: (row: (typeof rows)[number]) => (
          <Link
            to="/usage"
            search={(before) => ({
              ...before,
              ...(keyId !== undefined && { key_id: keyId }),
              ...(isKey ? { key_id: row.group } : { model: row.group }),
            })}
            hash="requests"
          >
            {name(row)}
          </Link>
        ),
        Requests: (row: (typeof rows)[number]) => formatCount(row.calls),
        Failed: (row: (typeof rows)[number]) => formatCount(row.failed_calls),
        'Input tokens': (row: (typeof rows)[number]) => formatCount(row.prompt_tokens),
        'Output tokens': (row: (typeof rows)[number]) => formatCount(row.completion_tokens),
        TTFT: (row: (typeof rows)[number]) => formatDuration(row.first_token_ms),
        Duration: (row: (typeof rows)[number]) => formatDuration(row.duration_ms),
        Cost: (row: (typeof rows)[number]) => <Money usd={row.cost_usd} />,
      }}
      numeric={['Requests', 'Failed', 'Input tokens', 'Output tokens', 'TTFT', 'Duration', 'Cost']}
    />
  )
}
