import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { BookOpenCheck } from 'lucide-react'
import type { AuditView } from '../../../src/core/api/operations.ts'
import { auditQuery, auditRunsQuery, ledgerSumsQuery, OPERATOR_API } from '../../api/operator-queries.ts'
import { messageOf, requestJson } from '../../api/request.ts'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { Note } from '../../components/note.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatCount } from '../../lib/figures.ts'
import { AuditRun } from './ledger/audit-run.tsx'
import { AuditRunTable } from './ledger/audit-run-table.tsx'

/** The sums of the ledger, and what audits found. */
export function LedgerPage() {
  const ledger = useQuery(ledgerSumsQuery)
  const audit = useQuery(auditQuery)
  const runs = useInfiniteQuery(auditRunsQuery)
  return (
    <>
      <PageHead
        title="Ledger and audit"
        description="Every movement is posted twice, so all sums together are zero."
        actions={<RunNow isRunning={audit.data?.running ?? false} />}
      />
      <Panel title="Sums by ledger account">
        <QueryView query={ledger}>
          {({ data, total_usd: total }) => (
            <>
              <DataTable
                caption="Sums of the ledger"
                rows={data}
                rowKey={(row) => row.ledger_account}
                columns={[
                  { header: 'Ledger account', title: true, cell: (row) => row.ledger_account },
                  { header: 'Accounts', numeric: true, cell: ({ accounts }) => formatCount(accounts) },
                  { header: 'Entries', numeric: true, cell: ({ entries }) => formatCount(entries) },
                  { header: 'Sum', numeric: true, cell: ({ balance_usd: usd }) => <Money usd={usd} /> },
                ]}
              />
              <div className="panel-body">
                {/^-?0\.0+$/.test(total) ? (
                  <Note tone="good">
                    All sums together are <Money usd={total} />, as they must be.
                  </Note>
                ) : (
                  <Note tone="bad" announce>
                    All sums together are <Money usd={total} /> and not zero. Run an audit now.
                  </Note>
                )}
              </div>
            </>
          )}
        </QueryView>
      </Panel>
      <Panel title="Latest audit">
        <QueryView query={audit}>
          {({ run, every_minutes: every, running }) =>
            run ? (
              <AuditRun run={run} />
            ) : (
              <EmptyState icon={BookOpenCheck}>
                {running
                  ? 'The first audit runs now.'
                  : `No audit yet. One runs every ${every} minutes, or now with “Run an audit”.`}
              </EmptyState>
            )
          }
        </QueryView>
      </Panel>
      <Panel title="All audits">
        <PageList query={runs} empty={<p className="panel-body muted">None yet.</p>}>
          {(rows) => <AuditRunTable runs={rows} />}
        </PageList>
      </Panel>
    </>
  )
}

function RunNow({ isRunning }: { isRunning: boolean }) {
  const client = useQueryClient()
  const run = useMutation({
    mutationFn: () => requestJson<AuditView>('POST', `${OPERATOR_API}/audit/run`),
    onSuccess: (view) => {
      client.setQueryData(auditQuery.queryKey, view)
      showToast('An audit was asked for; it begins within seconds.')
    },
    onError: (error) => showToast(messageOf(error)),
  })
  const isBusy = isRunning || run.isPending
  return (
    <button type="button" className="button button-primary" disabled={isBusy} onClick={() => run.mutate()}>
      {isBusy ? 'An audit runs …' : 'Run an audit'}
    </button>
  )
}
