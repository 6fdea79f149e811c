import { useQuery, useQueryClient } from '@tanstack/react-query'
import { BookOpenCheck } from 'lucide-react'
import type { AuditRunView, AuditView } from '../../../src/core/api/operations.ts'
import { auditQuery, auditRunsQuery, ledgerSumsQuery } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { EmptyState, Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable, ListPanel } from '../../components/table/data-table.tsx'
import { Code } from '../../components/text/code.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge, Facts, Moment } from '../../components/text/values.tsx'
import { formatCount, formatDuration, formatMoment, plural } from '../../lib/format.ts'
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
        actions={
          <>
            <RunNow reach="all" isRunning={audit.data?.running ?? false} />
            <RunNow reach="new" isRunning={audit.data?.running ?? false} />
          </>
        }
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
      <ListPanel title="All audits" query={auditRunsQuery} empty="No audits yet.">
        {(rows) => <AuditRunTable runs={rows} />}
      </ListPanel>
    </>
  )
}

/** Requests an audit of what was written since the last one, or of all rows. */
function RunNow({ reach, isRunning }: { reach: 'new' | 'all'; isRunning: boolean }) {
  const client = useQueryClient()
  const isNew = reach === 'new'
  return (
    <OperatorButton
      needs="audits.run"
      {...(isNew && { kind: 'primary' as const })}
      disabled={isRunning}
      action={{
        send: () => requestJson<AuditView>('POST', `/admin/api/audit/run${isNew ? '' : '?full=true'}`),
        onDone: (view: AuditView) => client.setQueryData(auditQuery.queryKey, view),
        done: 'Audit requested. It starts within seconds.',
      }}
    >
      {isNew ? (isRunning ? 'Audit running …' : 'Run audit') : 'Audit all rows'}
    </OperatorButton>
  )
}

/** The result of one audit: its verdict, discrepancies, checks and metrics. */
function AuditRun({ run }: { run: AuditRunView }) {
  const { ok, discrepancies, checks, figures: metrics } = run
  return (
    <>
      <div className="panel-body">
        <Note tone={ok ? 'good' : 'bad'}>
          <strong>
            {ok
              ? 'Audit passed.'
              : `Audit failed: ${plural(discrepancies.length, 'discrepancy', 'discrepancies')}.`}
          </strong>{' '}
          {run.is_full ? 'All rows' : 'What is new since the audit before'}, {formatMoment(run.at)},{' '}
          {run.cause === 'operator' ? 'requested by an operator' : 'scheduled'}, took{' '}
          {formatDuration(run.duration_ms)}.
        </Note>
      </div>
      {discrepancies.length > 0 && <Discrepancies run={run} />}
      <div className="panel-body">
        <details className="disclosure" open={!ok}>
          <summary>{plural(checks.length, 'check')}</summary>
          <DataTable
            caption="Checks of the audit"
            rows={checks}
            rowKey={({ name }) => name}
            columns={{
              Check: ({ name }) => name,
              Result: ({ broken }) =>
                broken === 0 ? (
                  <Badge tone="good">Passed</Badge>
                ) : (
                  <Badge tone="bad">{formatCount(broken)} failed</Badge>
                ),
            }}
            numeric={['Result']}
          />
        </details>
        <details className="disclosure">
          <summary>Metrics</summary>
          <Facts wide rows={metricRows(metrics)} />
        </details>
      </div>
    </>
  )
}

const Discrepancies = ({ run }: { run: AuditRunView }) => (
  <DataTable
    caption="Discrepancies"
    rows={run.discrepancies.map((row, index) => ({ ...row, index }))}
    rowKey={({ index }) => String(index)}
    columns={{
      Check: ({ check }) => check,
      Subject: ({ subject }) => <Code>{subject}</Code>,
      Details: ({ detail }) => <span className="wrap-anywhere">{detail}</span>,
    }}
  />
)

/** Those whose name alone would mislead. */
const METRIC_NAMES: Record<string, string> = {
  ledger_entries_usd: 'sum of all ledger entries (zero if balanced)',
  balances_usd: 'balances of all accounts (ledger)',
  balance_caches: 'accounts loaded in Redis (those with recent calls)',
  available_usd: 'available to spend, of accounts loaded in Redis',
  held_usd: 'held by running calls',
}

const metricRows = (metrics: AuditRunView['figures']) =>
  Object.fromEntries(
    Object.entries(metrics)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [
        METRIC_NAMES[name] ?? name.replace(/_usd$/, '').replaceAll('_', ' '),
        typeof value === 'number' ? formatCount(value) : <Money key={name} usd={value} />,
      ]),
  )

/** Audits with their verdicts and discrepancies. */
const AuditRunTable = ({ runs }: { runs: readonly AuditRunView[] }) => (
  <DataTable
    caption="Audits, newest first"
    rows={runs}
    columns={{
      When: ({ at }) => <Moment at={at} />,
      Trigger: ({ cause }) => (cause === 'operator' ? 'requested' : 'scheduled'),
      Rows: ({ is_full: isFull }) => (isFull ? 'all' : 'new'),
      Duration: (run) => formatDuration(run.duration_ms),
      Result: (run) =>
        run.ok ? (
          <Badge tone="good">Passed</Badge>
        ) : (
          <details className="disclosure">
            <summary>{plural(run.discrepancies.length, 'discrepancy', 'discrepancies')}</summary>
            <Discrepancies run={run} />
          </details>
        ),
    }}
    numeric={['Duration']}
  />
)
