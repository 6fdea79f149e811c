import type { AuditRunView } from '../../../../src/core/api/operations.ts'
import { Badge } from '../../../components/badge.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { Money } from '../../../components/money.tsx'
import { Note } from '../../../components/note.tsx'
import { formatMoment } from '../../../lib/dates.ts'
import { formatCount, formatDuration, plural } from '../../../lib/figures.ts'

/** What one audit found: its verdict, every discrepancy, every check and every figure. */
export function AuditRun({ run }: { run: AuditRunView }) {
  const { ok, discrepancies, checks, figures } = run
  return (
    <>
      <div className="panel-body">
        <Note tone={ok ? 'good' : 'bad'}>
          <strong>
            {ok
              ? 'The books are right.'
              : `The books are wrong: ${plural(discrepancies.length, 'discrepancy', 'discrepancies')}.`}
          </strong>{' '}
          {formatMoment(run.at)}, {run.cause === 'operator' ? 'asked for by an operator' : 'on schedule'},
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
            columns={[
              { header: 'Check', title: true, cell: ({ name }) => name },
              {
                header: 'Broken',
                numeric: true,
                cell: ({ broken }) =>
                  broken === 0 ? (
                    <Badge tone="good">holds</Badge>
                  ) : (
                    <Badge tone="bad">{formatCount(broken)} broken</Badge>
                  ),
              },
            ]}
          />
        </details>
        <details className="disclosure">
          <summary>Figures</summary>
          <dl className="facts facts-wide">
            {Object.entries(figures)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, value]) => (
                <Fact key={name} name={name} value={value} />
              ))}
          </dl>
        </details>
      </div>
    </>
  )
}

export function Discrepancies({ run }: { run: AuditRunView }) {
  return (
    <DataTable
      caption="Discrepancies"
      rows={run.discrepancies.map((row, index) => ({ ...row, index }))}
      rowKey={({ index }) => String(index)}
      columns={[
        { header: 'Check', title: true, cell: ({ check }) => check },
        { header: 'About', cell: ({ subject }) => <code className="anywhere">{subject}</code> },
        { header: 'What', cell: ({ detail }) => <span className="anywhere">{detail}</span> },
      ]}
    />
  )
}

function Fact({ name, value }: { name: string; value: string | number }) {
  return (
    <>
      <dt>{name.replace(/_usd$/, '').replaceAll('_', ' ')}</dt>
      <dd className="number">{typeof value === 'number' ? formatCount(value) : <Money usd={value} />}</dd>
    </>
  )
}
