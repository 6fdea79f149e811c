import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Printer } from 'lucide-react'
import type { StatementView } from '../../src/core/api/billing.ts'
import { statementQuery } from '../api/queries.ts'
import { QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { Code } from '../components/text/code.tsx'
import { Money } from '../components/text/money.tsx'
import { Moment, Stats } from '../components/text/values.tsx'
import { formatCount, formatDay, formatIn } from '../lib/format.ts'
import { MOVEMENT_NAMES } from './billing/movements.tsx'

/** Every change of the balance in one month, to print or to keep. */
export function StatementPage() {
  const { month } = useParams({ from: '/account/billing/statements/$month' })
  const link = (other: string, text: string) => (
    <Link to="/billing/statements/$month" params={{ month: other }} className="button">
      {text}
    </Link>
  )
  const next = monthBeside(month, 1)
  return (
    <>
      <PageHead
        back={<Link to="/billing">← Billing</Link>}
        title={`Statement of ${monthName(month)}`}
        description="In US dollars. Days and times are in UTC; calls count on the day they were received."
        actions={
          <>
            {link(monthBeside(month, -1), 'Previous month')}
            {next <= new Date().toISOString().slice(0, 7) && link(next, 'Next month')}
            <Button icon={Printer} onClick={() => window.print()}>
              Print
            </Button>
          </>
        }
      />
      <QueryView query={useQuery(statementQuery(month))}>
        {(statement) => <StatementTables statement={statement} />}
      </QueryView>
    </>
  )
}

function StatementTables({ statement }: { statement: StatementView }) {
  const { opening_usd: opening, closing_usd: closing, charges, movements } = statement
  return (
    <>
      <Stats
        rows={{
          'Opening balance': <Money usd={opening} />,
          Credited: <Money usd={statement.movements_usd} signed />,
          'Charged for calls': <Money usd={statement.charges_usd} />,
          'Closing balance': <Money usd={closing} />,
        }}
      />
      <Panel title="Top-ups and other transactions">
        <DataTable
          caption="Other transactions, oldest first"
          rows={movements}
          empty="None in this month."
          columns={{
            Description: ({ kind, note }) =>
              note ? `${MOVEMENT_NAMES[kind]}: ${note}` : MOVEMENT_NAMES[kind],
            Date: ({ at }) => <Moment at={at} zone="UTC" />,
            Amount: ({ amount_usd: usd }) => <Money usd={usd} signed />,
          }}
          numeric={['Amount']}
        />
      </Panel>
      <Panel title="Calls by day and model">
        <DataTable
          caption="Charges by day and model"
          rows={charges}
          rowKey={({ day, model }) => `${day} ${model}`}
          empty="No charged calls in this month."
          columns={{
            Day: ({ day }) => formatDay(day),
            Model: ({ model }) => <Code>{model}</Code>,
            'Charged calls': ({ calls }) => formatCount(calls),
            Amount: ({ amount_usd: usd }) => <Money usd={usd} signed />,
          }}
          numeric={['Charged calls', 'Amount']}
        />
      </Panel>
    </>
  )
}

/** `2027-01` and a step of months: `2026-12`. */
function monthBeside(month: string, step: number): string {
  const date = new Date(`${month}-01T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + step)
  return date.toISOString().slice(0, 7)
}

const monthName = (month: string): string =>
  formatIn('UTC', `${month}-01T00:00:00Z`, { month: 'long', year: 'numeric' })
