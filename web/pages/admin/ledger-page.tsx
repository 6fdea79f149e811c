import { useQuery, useQueryClient } from '@tanstack/react-query'
import { BookOpenCheck } from 'lucide-react'
import type { AuditView } from '../../../src/core/api/operations.ts'
import { auditQuery, auditRunsQuery, ledgerSumsQuery } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { EmptyState, Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable, ListPanel } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatCount } from '../../lib/format.ts'
import { AuditRun, AuditRunTable } from './ledger/audit-runs.tsx'
import { OperatorButton } from './operator-button.tsx'

/** The sums of the ledger, and the results of audits. */
export function LedgerPage() {
  const ledger = useQuery(ledgerSumsQuery)
  const audit = useQuery(auditQuery)
  return (
    <>
      <PageHead
        title="Ledger & audit"
        description="Double-entry: the sums of all ledger accounts add up to zero."
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
                columns={{
                  'Ledger account': (row) => row.ledger_account,
                  Accounts: ({ accounts }) => formatCount(accounts),
                  Entries: ({ entries }) => formatCount(entries),
                  Sum: ({ balance_usd: usd }) => <Money usd={usd} />,
                }}
                numeric={['Accounts', 'Entries', 'Sum']}
              />
              <div className="panel-body">
                {/^-?0\.0+$/.test(total) ? (
                  <Note tone="good">
                    Balanced: all sums add up to <Money usd={total} />.
                  </Note>
                ) : (
                  <Note tone="bad" announce>
                    Not balanced: all sums add up to <Money usd={total} /> instead of zero. Run an audit now.
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
                  ? 'The first audit is running.'
                  : `No audits yet. An audit runs every ${every} minutes, or now with “Run audit”.`}
              </EmptyState>
            )
          }
        </QueryView>
      </Panel>
      <ListPanel title="All audits" query={auditRunsQuery} icon={BookOpenCheck} empty="No audits yet.">
        {(rows) => <AuditRunTable runs={rows} />}
      </ListPanel>
    </>
  )
}

function RunNow({ isRunning }: { isRunning: boolean }) {
  const client = useQueryClient()
  const audit = useAction({
    send: () => requestJson<AuditView>('POST', '/admin/api/audit/run'),
    onDone: (view) => client.setQueryData(auditQuery.queryKey, view),
    done: 'Audit requested. It starts within seconds.',
  })
  const isBusy = isRunning || audit.isPending
  return (
    <OperatorButton needs="audits.run" kind="primary" disabled={isBusy} onClick={() => audit.run()}>
      {isBusy ? 'Audit running …' : 'Run audit'}
    </OperatorButton>
  )
}
