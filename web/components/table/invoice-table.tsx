import { Link } from '@tanstack/react-router'
import type { InvoiceView } from '../../../src/core/api/invoices.ts'
import { formatMoment } from '../../lib/format.ts'
import { Money } from '../text/money.tsx'
import { Badge } from '../text/values.tsx'
import { DataTable } from './data-table.tsx'

const KINDS: Record<InvoiceView['kind'], string> = { invoice: 'Invoice', credit_note: 'Credit note' }

type Row = Pick<InvoiceView, 'id' | 'number' | 'kind' | 'issued_at' | 'total_usd'> &
  Partial<Pick<InvoiceView, 'test' | 'top_up_id'>>

/** Invoices and credit notes, to download from where `pdfPath` says. */
export const InvoiceTable = (props: {
  caption: string
  invoices: readonly Row[]
  pdfPath: (id: string) => string
  empty?: string
  /** Times as they are printed, in UTC. */
  isPrinted?: boolean
  hasReceipts?: boolean
}) => (
  <DataTable
    caption={props.caption}
    rows={props.invoices}
    empty={props.empty}
    columns={{
      Number: ({ number, test }) => (
        <span className="row">
          <code>{number}</code>
          {test && <Badge>test</Badge>}
        </span>
      ),
      Kind: ({ kind }) => KINDS[kind],
      Issued: ({ issued_at: at }) => (props.isPrinted ? `${formatMoment(at, 'UTC')} UTC` : formatMoment(at)),
      Receipt:
        props.hasReceipts === true &&
        (({ top_up_id: id = '', number }) => (
          <Link to="/billing/receipts/$id" params={{ id }} className="text-accent">
            Receipt<span className="sr-only"> of {number}</span>
          </Link>
        )),
      Total: ({ kind, total_usd: total }) => <Money usd={kind === 'credit_note' ? `-${total}` : total} />,
      PDF: ({ id, number }) => (
        <a href={props.pdfPath(id)} className="text-accent" download>
          PDF<span className="sr-only"> of {number}</span>
        </a>
      ),
    }}
    numeric={['PDF']}
    cents={['Total']}
  />
)
