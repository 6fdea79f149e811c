import type { AuditRunView } from '../../../src/core/api/operations.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Badge, Facts, Money } from '../../components/text/values.tsx'
import { formatCount, formatDuration, formatMoment, plural } from '../../lib/format.ts'

/** The result of one audit: its verdict, discrepancies, checks and metrics. */
export function AuditRun({ run }: { run: AuditRunView }) {
  const { ok, discrepancies, checks, figures: metrics } = run
  return (
    <>
      <div className="panel-body">
        <Note tone={ok ? 'good' : 'bad'}>
          <strong>
            {ok
              ? 'The ledger is right.'
              : `The ledger is wrong: ${plural(discrepancies.length, 'discrepancy', 'discrepancies')}.`}
          </strong>{' '}
          {formatMoment(run.at)}, {run.cause === 'operator' ? 'requested by an operator' : 'on schedule'},
          took {formatDuration(run.duration_ms)}.
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
              Broken: ({ broken }) =>
                broken === 0 ? (
                  <Badge tone="good">holds</Badge>
                ) : (
                  <Badge tone="bad">{formatCount(broken)} broken</Badge>
                ),
            }}
            numeric={['Broken']}
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
        About: ({ subject }) => <code className="wrap-anywhere">{subject}</code>,
        What: ({ detail }) => <span className="wrap-anywhere">{detail}</span>,
      }}
    />
  )
}

const metricRows = (metrics: AuditRunView['figures']) =>
  Object.fromEntries(
    Object.entries(metrics)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [
        name.replace(/_usd$/, '').replaceAll('_', ' '),
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
