import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { UsageSeriesView } from '../../../src/core/api/usage.ts'
import { Counted, DataTable } from '../../components/table/data-table.tsx'
import { PagedRows } from '../../components/table/page-nav.tsx'
import { Breakable } from '../../components/text/code.tsx'
import { Money } from '../../components/text/money.tsx'
import { capitalised, formatCount, formatDuration } from '../../lib/format.ts'

/** The filter of the log for a group. */
export const groupFilter = (by: UsageSeriesView['group_by'], group: string) =>
  by === 'model' ? { model: group } : by === 'key' ? { key_id: group } : { member_id: group }

type Row = UsageSeriesView['groups'][number]

/** What usage is grouped by, within a sentence. */
export const GROUP_NAMES = { model: 'model', key: 'API key', member: 'member' }

/** The figures of every model, key or member, the most expensive first; its name shows its requests. `keyId`: those of one key. */
export function UsageBreakdown(props: { view: UsageSeriesView; keyId?: string }) {
  const { view, keyId } = props
  const [page, setPage] = useState(1)
  const rows = view.groups
  const by = view.group_by
  const columns: Record<string, (row: Row) => ReactNode> = {
    [capitalised(GROUP_NAMES[by])]: ({ group, name }) => (
      <Link
        to="/usage"
        search={(before) => ({
          ...before,
          cursor: undefined,
          ...(keyId !== undefined && { key_id: keyId }),
          ...groupFilter(by, group),
        })}
        hash="requests"
      >
        <Breakable text={name || group || 'Not known'} />
      </Link>
    ),
    Requests: ({ calls }) => <Counted count={calls} name="requests" />,
    Failed: ({ failed_calls: failed }) =>
      failed === 0 ? <span className="in-table">0</span> : <Counted count={failed} name="failed" />,
    'Input tokens': ({ prompt_tokens: tokens }) => <Counted count={tokens} name="in" />,
    'Output tokens': ({ completion_tokens: tokens }) => <Counted count={tokens} name="out" />,
    TTFT: ({ first_token_ms: ms }) => formatDuration(ms),
    Duration: ({ duration_ms: ms }) => formatDuration(ms),
    Cost: ({ cost_usd: usd }) => <Money usd={usd} />,
  }
  return (
    <>
      <PagedRows of={`usage by ${GROUP_NAMES[by]}`} rows={rows} page={page} onPage={setPage}>
        {(shown) => (
          <DataTable
            caption={`Usage by ${GROUP_NAMES[by]}; times are medians`}
            rows={shown}
            rowKey={({ group }) => group}
            empty="No requests in this period."
            columns={columns}
            numeric={['Requests', 'Failed', 'Input tokens', 'Output tokens', 'TTFT', 'Duration', 'Cost']}
            brief={['Requests', 'Failed', 'Input tokens', 'Output tokens']}
          />
        )}
      </PagedRows>
      {view.groups_count > rows.length && (
        <p className="px-inset pb-4 text-sm text-muted">
          The {formatCount(rows.length)} most expensive of {formatCount(view.groups_count)}; the export has
          all.
        </p>
      )}
    </>
  )
}
