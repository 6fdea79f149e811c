import type { AuditRunView } from '../../../../src/core/api/operations.ts'
import { Badge } from '../../../components/badge.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { formatDuration, plural } from '../../../lib/figures.ts'
import { Discrepancies } from './audit-run.tsx'

/** Audits with their verdicts; those that found something say what. */
export function AuditRunTable({ runs }: { runs: readonly AuditRunView[] }) {
  return (
    <DataTable
      caption="Audits, newest first"
      rows={runs}
      rowKey={({ id }) => id}
      columns={[
        { header: 'When', title: true, cell: ({ at }) => formatMoment(at) },
        { header: 'Cause', cell: ({ cause }) => (cause === 'operator' ? 'asked for' : 'schedule') },
        { header: 'Took', numeric: true, cell: (run) => formatDuration(run.duration_ms) },
        {
          header: 'Found',
          cell: (run) =>
            run.ok ? (
              <Badge tone="good">nothing amiss</Badge>
            ) : (
              <details className="disclosure">
                <summary>{plural(run.discrepancies.length, 'discrepancy', 'discrepancies')}</summary>
                <Discrepancies run={run} />
              </details>
            ),
        },
      ]}
    />
  )
}
