import type { AuditRunView } from '../../../../src/core/api/operations.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Badge } from '../../../components/text/values.tsx'
import { formatDuration, formatMoment, plural } from '../../../lib/format.ts'
import { Discrepancies } from './audit-run.tsx'

/** Audits with their verdicts and discrepancies. */
export function AuditRunTable({ runs }: { runs: readonly AuditRunView[] }) {
  return (
    <DataTable
      caption="Audits, newest first"
      rows={runs}
      columns={{
        When: ({ at }) => formatMoment(at),
        Cause: ({ cause }) => (cause === 'operator' ? 'requested' : 'schedule'),
        Took: (run) => formatDuration(run.duration_ms),
        Found: (run) =>
          run.ok ? (
            <Badge tone="good">no discrepancy</Badge>
          ) : (
            <details className="disclosure">
              <summary>{plural(run.discrepancies.length, 'discrepancy', 'discrepancies')}</summary>
              <Discrepancies run={run} />
            </details>
          ),
      }}
      numeric={['Took']}
    />
  )
}
