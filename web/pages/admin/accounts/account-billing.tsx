import { useQuery } from '@tanstack/react-query'
import type { AutoTopUpView } from '../../../../src/core/api/auto-top-up.ts'
import type { InvoiceView } from '../../../../src/core/api/invoices.ts'
import { accountBillingQuery, operatorInvoicePath } from '../../../api/operator-queries.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Money } from '../../../components/text/money.tsx'
import { Facts } from '../../../components/text/values.tsx'
import { cardName } from '../../../lib/card-name.ts'
import { formatMoment } from '../../../lib/format.ts'
import { INVOICE_KINDS } from '../../billing/invoice-list.tsx'

/** The saved card, automatic top-ups and invoices of an account. */
export function AccountBillingPanels({ accountId }: { accountId: string }) {
  const query = useQuery(accountBillingQuery(accountId))
  return (
    <>
      <Panel title="Automatic top-up" padded>
        <QueryView query={query}>{({ auto_top_up: view }) => <AutoTopUp view={view} />}</QueryView>
      </Panel>
      <Panel title="Invoices">
        <QueryView query={query}>{({ invoices }) => <Invoices invoices={invoices} />}</QueryView>
      </Panel>
    </>
  )
}

function AutoTopUp({ view: { card, settings, spent_this_month_usd: spent } }: { view: AutoTopUpView }) {
  if (!card && !settings) return <p className="text-muted">No saved card.</p>
  return (
    <Facts
      rows={{
        'Saved card': card ? `${cardName(card)}, expires ${card.exp_month}/${card.exp_year}` : 'none',
        State: settings ? stateOf(settings) : 'never set',
        Below: settings && <Money usd={settings.threshold_usd} />,
        Amount: settings && <Money usd={settings.amount_usd} />,
        'Maximum per month': settings && <Money usd={settings.monthly_maximum_usd} />,
        'This month (UTC)': <Money usd={spent} />,
      }}
    />
  )
}

function stateOf({
  enabled,
  paused,
  monthly_maximum_reached: isAtMaximum,
}: NonNullable<AutoTopUpView['settings']>): string {
  if (!enabled) return 'Off'
  if (paused) return `Paused since ${formatMoment(paused.at)}: ${paused.detail ?? paused.reason}`
  return isAtMaximum ? 'Maximum of the month reached' : 'On'
}

const Invoices = ({ invoices }: { invoices: InvoiceView[] }) => (
  <DataTable
    caption="Invoices, newest first"
    rows={invoices}
    empty="No invoices."
    columns={{
      Number: ({ number }) => <code>{number}</code>,
      Kind: ({ kind }) => INVOICE_KINDS[kind],
      Issued: ({ issued_at: at }) => formatMoment(at),
      Total: ({ kind, total_usd: total }) => <Money usd={kind === 'credit_note' ? `-${total}` : total} />,
      PDF: ({ id, number }) => (
        <a href={operatorInvoicePath(id)} download>
          PDF<span className="sr-only"> of {number}</span>
        </a>
      ),
    }}
    numeric={['Total', 'PDF']}
  />
)
