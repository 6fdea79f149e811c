import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Download, Printer } from 'lucide-react'
import type { TopUpView } from '../../src/core/api/billing.ts'
import type { TopUpInvoices } from '../../src/core/api/invoices.ts'
import { invoicePdfPath, topUpInvoicesQuery, topUpQuery } from '../api/queries.ts'
import { Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead } from '../components/layout/page.tsx'
import { InvoiceTable } from '../components/table/invoice-table.tsx'
import { Money } from '../components/text/money.tsx'
import { Facts } from '../components/text/values.tsx'
import { formatMoment, RAIL_NAMES } from '../lib/format.ts'

/** One receipt, to print or to keep. */
export function ReceiptPage() {
  const { id } = useParams({ from: '/account/billing/receipts/$id' })
  const invoices = useQuery(topUpInvoicesQuery(id))
  const [invoice] = invoices.data?.data ?? []
  return (
    <>
      <PageHead
        title="Receipt"
        actions={
          <>
            <Link to="/billing" className="button">
              Back to billing
            </Link>
            {invoice && (
              <a href={invoicePdfPath(invoice.id)} className="button" download>
                <Download size={16} aria-hidden="true" />
                Invoice (PDF)
              </a>
            )}
            <Button icon={Printer} onClick={() => window.print()}>
              Print
            </Button>
          </>
        }
      />
      <QueryView query={useQuery(topUpQuery(id))}>
        {(topUp) =>
          topUp.receipt ? (
            <QueryView query={invoices}>{({ data }) => <Receipt topUp={topUp} invoices={data} />}</QueryView>
          ) : (
            <Note>No receipt: this top-up has not been paid.</Note>
          )
        }
      </QueryView>
    </>
  )
}

type Issued = TopUpInvoices['data'][number]

function Receipt({ topUp, invoices }: { topUp: TopUpView; invoices: Issued[] }) {
  const [invoice] = invoices
  return (
    <section className="panel panel-body stack" aria-label="Receipt">
      {topUp.test && <Note tone="warn">Test mode: no real payment was made.</Note>}
      <Facts
        rows={{
          From: invoice && <Address lines={addressOf(invoice.issuer)} />,
          'Billed to': invoice ? <Address lines={addressOf(invoice.customer)} /> : topUp.receipt?.billed_to,
          'Receipt number': <code>{topUp.payment_id}</code>,
          Invoice: invoice && <code>{invoice.number}</code>,
          'Date issued': topUp.settled_at && `${formatMoment(topUp.settled_at, 'UTC')} (UTC)`,
          Description: 'Prepaid balance for API usage',
          'Payment method': RAIL_NAMES[topUp.rail],
          Paid: <Money usd={topUp.amount_usd} />,
          ...(invoice?.tax && {
            [`${invoice.tax.name} ${invoice.tax.percent} %, included`]: (
              <Money usd={invoice.tax.amount_usd} />
            ),
          }),
          Refunded: <Money usd={topUp.refunded_usd} />,
          Disputed: topUp.disputed_usd !== '0.00' && <Money usd={topUp.disputed_usd} />,
          'Total (US dollars)': (
            <strong>
              <Money usd={topUp.receipt!.net_usd} />
            </strong>
          ),
        }}
      />
      {invoice?.note && <p className="text-sm text-muted">{invoice.note}</p>}
      {invoices.length > 1 && (
        <InvoiceTable
          caption="Invoice and credit notes of this top-up"
          invoices={invoices}
          pdfPath={invoicePdfPath}
          isPrinted
        />
      )}
    </section>
  )
}

/** A name and an address as they are printed. */
function addressOf({ name, address, tax_id: taxId, email, ...rest }: Issued['issuer'] | Issued['customer']) {
  const country = 'country' in rest ? rest.country : ''
  return [name, ...address, country, taxId && `Tax ID: ${taxId}`, email].filter(Boolean)
}

const Address = ({ lines }: { lines: string[] }) => (
  <span className="whitespace-pre-line">{lines.join('\n')}</span>
)
