import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { UsageSeriesView } from '../../../src/core/api/usage.ts'
import { Counted, DataTable } from '../../components/table/data-table.tsx'
import { PagedRows } from '../../components/table/page-nav.tsx'
import { Breakable } from '../../components/text/code.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatCount, formatDuration } from '../../lib/format.ts'

/** The filter of the log for a group. */
export const groupFilter = (by: UsageSeriesView['group_by'], group: string) =>
  by === 'model' ? { model: group } : by === 'key' ? { key_id: group } : { member_id: group }

/** What usage is grouped by, within a sentence. */
export const GROUP_NAMES: Record<UsageSeriesView['group_by'], string> = {
  model: 'model',
  key: 'API key',
  member: 'member',
}

const HEADERS = { model: 'Model', key: 'API key', member: 'Member' }

/** The figures of every model, key or member, the most expensive first; its name shows its requests. `keyId`: those of one key. */
export function UsageBreakdown(props: { view: UsageSeriesView; keyId?: string }) {
  const { view, keyId } = props
  const [page, setPage] = useState(1)
  const rows = view.groups
  const by = view.group_by
  const name = (row: (typeof rows)[number]) => row.name || row.group || 'Not known'
  return (
    <>
      <PagedRows of={`usage by ${GROUP_NAMES[by]}`} rows={rows} page={page} onPage={setPage}>
        {(shown) => (
          <DataTable
            caption={`Usage by ${GROUP_NAMES[by]}; times are medians`}
            rows={shown}
            rowKey={({ group }) => group}
            empty="No requests in this period."
            columns={{
              [HEADERS[by]]: (row: (typeof rows)[number]) => (
                <Link
                  to="/usage"
                  search={(before) => ({
                    ...before,
                    cursor: undefined,
                    ...(keyId !== undefined && { key_id: keyId }),
                    ...groupFilter(by, row.group),
                  })}
                  hash="requests"
                >
                  <Breakable text={name(row)} />
                </Link>
              ),
              Requests: (row: (typeof rows)[number]) => <Counted count={row.calls} name="requests" />,
              Failed: (row: (typeof rows)[number]) =>
                row.failed_calls === 0 ? (
                  <span className="in-table">0</span>
                ) : (
                  <Counted count={row.failed_calls} name="failed" />
                ),
              'Input tokens': (row: (typeof rows)[number]) => <Counted count={row.prompt_tokens} name="in" />,
              'Output tokens': (row: (typeof rows)[number]) => (
                <Counted count={row.completion_tokens} name="out" />
              ),
              TTFT: (row: (typeof rows)[number]) => formatDuration(row.first_token_ms),
              Duration: (row: (typeof rows)[number]) => formatDuration(row.duration_ms),
              Cost: (row: (typeof rows)[number]) => <Money usd={row.cost_usd} />,
            }}
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
