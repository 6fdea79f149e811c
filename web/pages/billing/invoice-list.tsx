import { Link } from '@tanstack/react-router'
import { FileText } from 'lucide-react'
import { invoicePdfPath, invoicesQuery } from '../../api/queries.ts'
import { DataTable, ListPanel } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge } from '../../components/text/values.tsx'
import { formatMoment } from '../../lib/format.ts'

export const INVOICE_KINDS = { invoice: 'Invoice', credit_note: 'Credit note' }

/** Every invoice and credit note, to download. */
export function InvoiceList() {
  return (
    <ListPanel title="Invoices" query={invoicesQuery} icon={FileText} empty="No invoices yet.">
      {(invoices) => (
        <DataTable
          caption="Invoices, newest first"
          rows={invoices}
          columns={{
            Number: ({ number, test }) => (
              <span className="row">
                <code>{number}</code>
                {test && <Badge>test</Badge>}
              </span>
            ),
            Kind: ({ kind }) => INVOICE_KINDS[kind],
            Issued: ({ issued_at: at }) => `${formatMoment(at, 'UTC')} UTC`,
            Receipt: ({ top_up_id: id, number }) => (
              <Link to="/billing/receipts/$id" params={{ id }}>
                Receipt<span className="sr-only"> of {number}</span>
              </Link>
            ),
            Total: ({ kind, total_usd: total }) => (
              <Money usd={kind === 'credit_note' ? `-${total}` : total} />
            ),
            PDF: ({ id, number }) => (
              <a href={invoicePdfPath(id)} download>
                PDF<span className="sr-only"> of {number}</span>
              </a>
            ),
          }}
          numeric={['Total', 'PDF']}
        />
      )}
    </ListPanel>
  )
}
