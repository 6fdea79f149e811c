import type { AuditRunView } from '../../../../src/core/api/operations.ts'
import { Note } from '../../../components/feedback/messages.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Money } from '../../../components/text/money.tsx'
import { Badge, Facts } from '../../../components/text/values.tsx'
import { formatCount, formatDuration, formatMoment, plural } from '../../../lib/format.ts'

/** The result of one audit: its verdict, discrepancies, checks and metrics. */
export function AuditRun({ run }: { run: AuditRunView }) {
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
          {formatMoment(run.at)}, {run.cause === 'operator' ? 'requested by an operator' : 'scheduled'}, took{' '}
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

function Discrepancies({ run }: { run: AuditRunView }) {
  return (
    <DataTable
      caption="Discrepancies"
      rows={run.discrepancies.map((row, index) => ({ ...row, index }))}
      rowKey={({ index }) => String(index)}
      columns={{
        Check: ({ check }) => check,
        Subject: ({ subject }) => <code className="wrap-anywhere">{subject}</code>,
        Details: ({ detail }) => <span className="wrap-anywhere">{detail}</span>,
      }}
    />
  )
}

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
export function AuditRunTable({ runs }: { runs: readonly AuditRunView[] }) {
  return (
    <DataTable
      caption="Audits, newest first"
      rows={runs}
      columns={{
        When: ({ at }) => formatMoment(at),
        Trigger: ({ cause }) => (cause === 'operator' ? 'requested' : 'scheduled'),
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
}
